// The user's softmax with one planted fault: the last column is left out of the sum.
#define USER_SOFTMAX_SUMMED(columns) ((columns)-1)
#include "user_softmax.cpp"
