/* SPDX-License-Identifier: Apache-2.0 */
/* Which setsockopt(2) options a sandboxed command may set, by level and name.
 *
 * Should:   have one row, with its reason, for each option that programs set.
 * Must not: list an option that loads code into the kernel (ULP, BPF), that requires a
 *           capability, that only routers, IPsec, packet filters and repair tools need, or
 *           that sends packets elsewhere than to the destination address.
 * Fails:    closed: an option that is not listed returns ENOPROTOOPT, as the kernel does
 *           for an unknown option; every program handles that. */
#include "data/syscalls.h"

#include "base/auto.h"

#include <errno.h>

/* Levels: IPPROTO_IP, SOL_SOCKET, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_IPV6, SOL_NETLINK. */
#define IP_(name) ARG_PAIR(0, name)
#define SO_(name) ARG_PAIR(1, name)
#define TCP_(name) ARG_PAIR(6, name)
#define UDP_(name) ARG_PAIR(17, name)
#define IPV6_(name) ARG_PAIR(41, name)
#define NETLINK_(name) ARG_PAIR(270, name)

/* clang-format off */
static const struct arg_answer rows[] = {
	{IP_(1), LET_THROUGH, "IP_TOS", "quality of service: ssh, run-times"},
	{IP_(2), LET_THROUGH, "IP_TTL", "traceroute"},
	{IP_(6), LET_THROUGH, "IP_RECVOPTS", "IP options of a received datagram: name servers"},
	{IP_(7), LET_THROUGH, "IP_RETOPTS", "as IP_RECVOPTS"},
	{IP_(8), LET_THROUGH, "IP_PKTINFO", "as IP_RECVOPTS: the destination address"},
	{IP_(10), LET_THROUGH, "IP_MTU_DISCOVER", "QUIC, name servers"},
	{IP_(11), LET_THROUGH, "IP_RECVERR", "errors of datagrams: resolvers, ping"},
	{IP_(12), LET_THROUGH, "IP_RECVTTL", "as IP_RECVOPTS"},
	{IP_(13), LET_THROUGH, "IP_RECVTOS", "as IP_RECVOPTS: QUIC"},
	{IP_(15), LET_THROUGH, "IP_FREEBIND", "servers bind before their address is configured"},
	{IP_(20), LET_THROUGH, "IP_RECVORIGDSTADDR", "as IP_RECVOPTS"},
	{IP_(21), LET_THROUGH, "IP_MINTTL", "drops datagrams from distant hosts"},
	{IP_(24), LET_THROUGH, "IP_BIND_ADDRESS_NO_PORT", "clients choose the port when they connect"},
	{IP_(32), LET_THROUGH, "IP_MULTICAST_IF", "service discovery"},
	{IP_(33), LET_THROUGH, "IP_MULTICAST_TTL", "as IP_MULTICAST_IF"},
	{IP_(34), LET_THROUGH, "IP_MULTICAST_LOOP", "as IP_MULTICAST_IF"},
	{IP_(35), LET_THROUGH, "IP_ADD_MEMBERSHIP", "as IP_MULTICAST_IF"},
	{IP_(36), LET_THROUGH, "IP_DROP_MEMBERSHIP", "as IP_MULTICAST_IF"},
	{IP_(37), LET_THROUGH, "IP_UNBLOCK_SOURCE", "as IP_MULTICAST_IF"},
	{IP_(38), LET_THROUGH, "IP_BLOCK_SOURCE", "as IP_MULTICAST_IF"},
	{IP_(39), LET_THROUGH, "IP_ADD_SOURCE_MEMBERSHIP", "as IP_MULTICAST_IF"},
	{IP_(40), LET_THROUGH, "IP_DROP_SOURCE_MEMBERSHIP", "as IP_MULTICAST_IF"},
	{IP_(42), LET_THROUGH, "MCAST_JOIN_GROUP", "as IP_MULTICAST_IF: Java"},
	{IP_(43), LET_THROUGH, "MCAST_BLOCK_SOURCE", "as MCAST_JOIN_GROUP"},
	{IP_(44), LET_THROUGH, "MCAST_UNBLOCK_SOURCE", "as MCAST_JOIN_GROUP"},
	{IP_(45), LET_THROUGH, "MCAST_LEAVE_GROUP", "as MCAST_JOIN_GROUP"},
	{IP_(46), LET_THROUGH, "MCAST_JOIN_SOURCE_GROUP", "as MCAST_JOIN_GROUP"},
	{IP_(47), LET_THROUGH, "MCAST_LEAVE_SOURCE_GROUP", "as MCAST_JOIN_GROUP"},
	{IP_(49), LET_THROUGH, "IP_MULTICAST_ALL", "as IP_MULTICAST_IF: Java sets it on every socket"},
	{IP_(50), LET_THROUGH, "IP_UNICAST_IF", "as IP_MULTICAST_IF"},
	{IP_(51), LET_THROUGH, "IP_LOCAL_PORT_RANGE", "which ports bind(2) chooses"},

	{SO_(2), LET_THROUGH, "SO_REUSEADDR", "every server"},
	{SO_(5), LET_THROUGH, "SO_DONTROUTE", "local networks only"},
	{SO_(6), LET_THROUGH, "SO_BROADCAST", "service discovery"},
	{SO_(7), LET_THROUGH, "SO_SNDBUF", "buffer size, up to the host's limit"},
	{SO_(8), LET_THROUGH, "SO_RCVBUF", "as SO_SNDBUF"},
	{SO_(9), LET_THROUGH, "SO_KEEPALIVE", "every client"},
	{SO_(10), LET_THROUGH, "SO_OOBINLINE", "remote shells"},
	{SO_(11), LET_THROUGH, "SO_NO_CHECK", "datagrams without a checksum"},
	{SO_(12), LET_THROUGH, "SO_PRIORITY", "quality of service, as IP_TOS"},
	{SO_(13), LET_THROUGH, "SO_LINGER", "how long close(2) waits"},
	{SO_(14), LET_THROUGH, "SO_BSDCOMPAT", "old programs; it does nothing"},
	{SO_(15), LET_THROUGH, "SO_REUSEPORT", "servers with several processes"},
	{SO_(16), LET_THROUGH, "SO_PASSCRED", "credentials of the sender: D-Bus, logs"},
	{SO_(18), LET_THROUGH, "SO_RCVLOWAT", "bytes that make the socket readable"},
	{SO_(20), LET_THROUGH, "SO_RCVTIMEO", "time-outs"},
	{SO_(21), LET_THROUGH, "SO_SNDTIMEO", "time-outs"},
	{SO_(25), LET_THROUGH, "SO_BINDTODEVICE", "ping -I and curl --interface, within the run's own network"},
	{SO_(29), LET_THROUGH, "SO_TIMESTAMP", "when it arrived: ping"},
	{SO_(34), LET_THROUGH, "SO_PASSSEC", "as SO_PASSCRED: the label"},
	{SO_(35), LET_THROUGH, "SO_TIMESTAMPNS", "as SO_TIMESTAMP"},
	{SO_(36), EPERM, "SO_MARK", "chooses routes; an ordinary user gets EPERM too, which VPN tools expect"},
	{SO_(37), LET_THROUGH, "SO_TIMESTAMPING", "as SO_TIMESTAMP"},
	{SO_(40), LET_THROUGH, "SO_RXQ_OVFL", "how many datagrams were dropped"},
	{SO_(42), LET_THROUGH, "SO_PEEK_OFF", "the offset of the next MSG_PEEK"},
	{SO_(45), LET_THROUGH, "SO_SELECT_ERR_QUEUE", "as IP_RECVERR"},
	{SO_(47), LET_THROUGH, "SO_MAX_PACING_RATE", "limits the rate: video servers"},
	{SO_(62), LET_THROUGH, "SO_BINDTOIFINDEX", "as SO_BINDTODEVICE"},
	{SO_(63), LET_THROUGH, "SO_TIMESTAMP_NEW", "as SO_TIMESTAMP"},
	{SO_(64), LET_THROUGH, "SO_TIMESTAMPNS_NEW", "as SO_TIMESTAMP"},
	{SO_(65), LET_THROUGH, "SO_TIMESTAMPING_NEW", "as SO_TIMESTAMP"},
	{SO_(66), LET_THROUGH, "SO_RCVTIMEO_NEW", "as SO_RCVTIMEO"},
	{SO_(67), LET_THROUGH, "SO_SNDTIMEO_NEW", "as SO_SNDTIMEO"},
	{SO_(76), LET_THROUGH, "SO_PASSPIDFD", "as SO_PASSCRED"},
	{SO_(83), LET_THROUGH, "SO_PASSRIGHTS", "refuses SCM_RIGHTS descriptors"},

	{TCP_(1), LET_THROUGH, "TCP_NODELAY", "every client"},
	{TCP_(2), LET_THROUGH, "TCP_MAXSEG", "the segment's size"},
	{TCP_(3), LET_THROUGH, "TCP_CORK", "web servers"},
	{TCP_(4), LET_THROUGH, "TCP_KEEPIDLE", "keepalive: database clients, run-times"},
	{TCP_(5), LET_THROUGH, "TCP_KEEPINTVL", "as TCP_KEEPIDLE"},
	{TCP_(6), LET_THROUGH, "TCP_KEEPCNT", "as TCP_KEEPIDLE"},
	{TCP_(7), LET_THROUGH, "TCP_SYNCNT", "how many SYNs are sent"},
	{TCP_(8), LET_THROUGH, "TCP_LINGER2", "how long FIN_WAIT2 lasts"},
	{TCP_(9), LET_THROUGH, "TCP_DEFER_ACCEPT", "web servers"},
	{TCP_(10), LET_THROUGH, "TCP_WINDOW_CLAMP", "the limit of the receive window"},
	{TCP_(12), LET_THROUGH, "TCP_QUICKACK", "proxies, Java"},
	{TCP_(13), LET_THROUGH, "TCP_CONGESTION", "one of the algorithms that the host allows for all users"},
	{TCP_(18), LET_THROUGH, "TCP_USER_TIMEOUT", "gRPC, database clients"},
	{TCP_(23), LET_THROUGH, "TCP_FASTOPEN", "of a server"},
	{TCP_(25), LET_THROUGH, "TCP_NOTSENT_LOWAT", "HTTP/2 servers, browsers"},
	{TCP_(30), LET_THROUGH, "TCP_FASTOPEN_CONNECT", "of a client, within the run's own network"},
	{TCP_(36), LET_THROUGH, "TCP_INQ", "readable bytes, with each recvmsg(2)"},

	{UDP_(1), LET_THROUGH, "UDP_CORK", "one datagram of several writes"},
	{UDP_(103), LET_THROUGH, "UDP_SEGMENT", "QUIC"},
	{UDP_(104), LET_THROUGH, "UDP_GRO", "QUIC"},

	{IPV6_(2), LET_THROUGH, "IPV6_2292PKTINFO", "as IP_PKTINFO"},
	{IPV6_(8), LET_THROUGH, "IPV6_2292HOPLIMIT", "as IP_RECVTTL"},
	{IPV6_(16), LET_THROUGH, "IPV6_UNICAST_HOPS", "as IP_TTL"},
	{IPV6_(17), LET_THROUGH, "IPV6_MULTICAST_IF", "as IP_MULTICAST_IF"},
	{IPV6_(18), LET_THROUGH, "IPV6_MULTICAST_HOPS", "as IP_MULTICAST_IF"},
	{IPV6_(19), LET_THROUGH, "IPV6_MULTICAST_LOOP", "as IP_MULTICAST_IF"},
	{IPV6_(20), LET_THROUGH, "IPV6_ADD_MEMBERSHIP", "as IP_MULTICAST_IF"},
	{IPV6_(21), LET_THROUGH, "IPV6_DROP_MEMBERSHIP", "as IP_MULTICAST_IF"},
	{IPV6_(23), LET_THROUGH, "IPV6_MTU_DISCOVER", "as IP_MTU_DISCOVER"},
	{IPV6_(24), LET_THROUGH, "IPV6_MTU", "as IP_MTU_DISCOVER: name servers"},
	{IPV6_(25), LET_THROUGH, "IPV6_RECVERR", "as IP_RECVERR"},
	{IPV6_(26), LET_THROUGH, "IPV6_V6ONLY", "every server"},
	{IPV6_(29), LET_THROUGH, "IPV6_MULTICAST_ALL", "as IP_MULTICAST_ALL"},
	{IPV6_(42), LET_THROUGH, "MCAST_JOIN_GROUP", "as IP_MULTICAST_IF"},
	{IPV6_(43), LET_THROUGH, "MCAST_BLOCK_SOURCE", "as IP_MULTICAST_IF"},
	{IPV6_(44), LET_THROUGH, "MCAST_UNBLOCK_SOURCE", "as IP_MULTICAST_IF"},
	{IPV6_(45), LET_THROUGH, "MCAST_LEAVE_GROUP", "as IP_MULTICAST_IF"},
	{IPV6_(46), LET_THROUGH, "MCAST_JOIN_SOURCE_GROUP", "as IP_MULTICAST_IF"},
	{IPV6_(47), LET_THROUGH, "MCAST_LEAVE_SOURCE_GROUP", "as IP_MULTICAST_IF"},
	{IPV6_(49), LET_THROUGH, "IPV6_RECVPKTINFO", "as IP_PKTINFO"},
	{IPV6_(50), LET_THROUGH, "IPV6_PKTINFO", "as IP_PKTINFO"},
	{IPV6_(51), LET_THROUGH, "IPV6_RECVHOPLIMIT", "as IP_RECVTTL"},
	{IPV6_(52), LET_THROUGH, "IPV6_HOPLIMIT", "as IP_TTL"},
	{IPV6_(60), LET_THROUGH, "IPV6_RECVPATHMTU", "as IP_MTU_DISCOVER"},
	{IPV6_(62), LET_THROUGH, "IPV6_DONTFRAG", "as IP_MTU_DISCOVER: QUIC"},
	{IPV6_(66), LET_THROUGH, "IPV6_RECVTCLASS", "as IP_RECVTOS"},
	{IPV6_(67), LET_THROUGH, "IPV6_TCLASS", "as IP_TOS"},
	{IPV6_(70), LET_THROUGH, "IPV6_AUTOFLOWLABEL", "whether the kernel chooses a flow label"},
	{IPV6_(72), LET_THROUGH, "IPV6_ADDR_PREFERENCES", "which source address is used"},
	{IPV6_(73), LET_THROUGH, "IPV6_MINHOPCOUNT", "as IP_MINTTL"},
	{IPV6_(74), LET_THROUGH, "IPV6_RECVORIGDSTADDR", "as IP_RECVORIGDSTADDR"},
	{IPV6_(76), LET_THROUGH, "IPV6_UNICAST_IF", "as IP_UNICAST_IF"},
	{IPV6_(78), LET_THROUGH, "IPV6_FREEBIND", "as IP_FREEBIND"},

	{NETLINK_(1), LET_THROUGH, "NETLINK_ADD_MEMBERSHIP", "changes of interfaces and routes: browsers, run-times"},
	{NETLINK_(2), LET_THROUGH, "NETLINK_DROP_MEMBERSHIP", "as NETLINK_ADD_MEMBERSHIP"},
	{NETLINK_(3), LET_THROUGH, "NETLINK_PKTINFO", "as NETLINK_ADD_MEMBERSHIP"},
	{NETLINK_(5), LET_THROUGH, "NETLINK_NO_ENOBUFS", "as NETLINK_ADD_MEMBERSHIP"},
	{NETLINK_(10), LET_THROUGH, "NETLINK_CAP_ACK", "iproute2"},
	{NETLINK_(11), LET_THROUGH, "NETLINK_EXT_ACK", "iproute2"},
	{NETLINK_(12), LET_THROUGH, "NETLINK_GET_STRICT_CHK", "iproute2"},
};
/* clang-format on */

const struct arg_answers sockopt_answers = {
	.arg = 1, .pair = true, .otherwise = ENOPROTOOPT, .count = ARRAY_LEN(rows), .rows = rows};
