"""Tests random vectors: moments, shapes, and the same errors as NumPy's."""

import numpy as np
import pytest

from numbalite import cuda

MANY = 40_000


def make_generator(seed=None):
    return cuda.random.default_rng(seed)


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
@pytest.mark.parametrize("where", [np.asarray, cuda.asarray])
def test_multivariate_normal_has_the_given_moments(method, where):
    root = np.random.default_rng(5).normal(size=(3, 3))
    mean, cov = np.array([1.0, -2.0, 5.0]), root @ root.T
    x = make_generator(1).multivariate_normal(where(mean), where(cov), MANY, method=method)
    assert (x.shape, x.dtype) == ((MANY, 3), np.float64)
    host = x.copy_to_host()
    np.testing.assert_allclose(host.mean(0), mean, atol=0.1)
    np.testing.assert_allclose(np.cov(host.T), cov, atol=0.2)


def test_multivariate_normal_has_the_requested_shape():
    rng = make_generator()
    assert rng.multivariate_normal([0, 0], np.eye(2)).shape == (2,)
    assert rng.multivariate_normal([0, 0], np.eye(2), (2, 3)).shape == (2, 3, 2)
    assert rng.multivariate_normal([0, 0], np.eye(2), 0).shape == (0, 2)
    zero = rng.multivariate_normal([3, 4], np.zeros((2, 2)), 5).copy_to_host()
    assert (zero == [3, 4]).all()
    assert cuda.random.multivariate_normal([0, 0], np.eye(2), 3).shape == (3, 2)
    with pytest.warns(RuntimeWarning, match="not symmetric positive-semidefinite"):
        rng.multivariate_normal([0, 0], [[1, 2], [3, -4]])
    rng.multivariate_normal([0, 0], [[1, 2], [3, -4]], check_valid="ignore")
    for mean, cov, given in (
        ([0, 0], [[1, 2], [3, -4]], {"check_valid": "raise"}),
        ([0, 0], np.eye(3), {}),
        ([[0, 0]], np.eye(2), {}),
        ([0, 0], np.eye(2), {"method": "lu"}),
        ([0, 0], np.eye(2), {"check_valid": "no"}),
    ):
        with pytest.raises(ValueError, match="multivariate_normal: "):
            rng.multivariate_normal(mean, cov, **given)


def test_multinomial_has_the_given_moments():
    rng, p = make_generator(2), np.array([0.2, 0.3, 0.1, 0.4])
    for pvals in (p, cuda.asarray(p), p.tolist()):
        x = rng.multinomial(20, pvals, MANY)
        assert (x.shape, x.dtype) == ((MANY, 4), np.int64)
        host = x.copy_to_host()
        assert (host >= 0).all()
        assert (host.sum(1) == 20).all()
        np.testing.assert_allclose(host.mean(0), 20 * p, atol=0.15)
        expected = 20 * (np.diag(p) - np.outer(p, p))
        np.testing.assert_allclose(np.cov(host.T), expected, atol=0.2)
    many = rng.multinomial([[5], [9]], [[0.5, 0.5], [1, 0], [0, 1]]).copy_to_host()
    assert many.shape == (2, 3, 2)
    assert (many.sum(-1) == [[5] * 3, [9] * 3]).all()
    assert many[:, 1].tolist() == [[5, 0], [9, 0]]
    assert many[:, 2].tolist() == [[0, 5], [0, 9]]
    assert rng.multinomial(4, [1.0]).tolist() == [4]
    assert rng.multinomial(0, [0.5, 0.5], 3).copy_to_host().tolist() == [[0, 0]] * 3
    for pvals in ([0.7, 0.5, 0.1], [-0.1, 1.1], [np.nan, 1], []):
        with pytest.raises(ValueError, match="multinomial: "):
            rng.multinomial(3, pvals)
    with pytest.raises(ValueError, match="binomial: n must be"):
        rng.multinomial(-1, [0.5, 0.5])


@pytest.mark.parametrize("alpha", [[1.0, 2, 3], [0.01, 0.02, 0.05], [0, 1.0, 1], [50.0, 1], [3]])
def test_dirichlet_has_the_given_moments(alpha):
    for given in (alpha, cuda.asarray(alpha)):
        x = make_generator(3).dirichlet(given, MANY)
        assert (x.shape, x.dtype) == ((MANY, len(alpha)), np.float64)
        host, a = x.copy_to_host(), np.array(alpha, float)
        np.testing.assert_allclose(host.sum(1), 1, rtol=1e-12)
        mean = a / a.sum()
        np.testing.assert_allclose(host.mean(0), mean, atol=0.01)
        np.testing.assert_allclose(host.var(0), mean * (1 - mean) / (a.sum() + 1), atol=0.01)


def test_invalid_dirichlet_parameters_raise():
    rng = make_generator()
    assert rng.dirichlet([1, 2], (2, 3)).shape == (2, 3, 2)
    for alpha in ([-1.0, 2], [], [[1.0, 2]], [np.nan, 1]):
        with pytest.raises(ValueError, match="dirichlet: "):
            rng.dirichlet(alpha)


def test_equal_seeds_give_equal_samples():
    calls = (
        lambda rng: rng.multivariate_normal([0, 1], [[2, 1], [1, 2]], 9),
        lambda rng: rng.multinomial(9, [0.3, 0.3, 0.4], 9),
        lambda rng: rng.dirichlet([1, 2], 9),
        lambda rng: rng.dirichlet([0.01, 0.02], 9),
    )
    for call in calls:
        first, again, other = (call(make_generator(seed)).copy_to_host() for seed in (7, 7, 8))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()
