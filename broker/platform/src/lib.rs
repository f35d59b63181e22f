//! Clients of the BOSH Director, UAA and the Cloud Controller on one HTTP foundation.
