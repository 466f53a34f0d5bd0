// Empty except for a macro, because bool, true and false are keywords of C++.
#pragma once
