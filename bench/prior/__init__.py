"""The prior on the weights: speed on many sparse columns, and transfer between topics.

==========  =====================================================================================
`news`      20 newsgroups as words, from the folder ``GRLS_DATA``; an artificial stand-in otherwise
`sparse`    20 classes on 100,000 columns against scikit-learn's conjugate gradients
`transfer`  a topic pair with few examples, a prior learnt from other pairs
==========  =====================================================================================
"""
