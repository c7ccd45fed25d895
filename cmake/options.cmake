# What every target of the project is compiled with.
add_library(nbx_options INTERFACE)
target_include_directories(nbx_options INTERFACE "${PROJECT_SOURCE_DIR}")
# Contraction would merge a rounding that the bounds and the other back end count.
target_compile_options(nbx_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Werror;-ffp-contract=off>)
if(NBX_SANITIZE)
  target_compile_options(nbx_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${NBX_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>)
  target_link_options(nbx_options INTERFACE -fsanitize=${NBX_SANITIZE})
endif()
