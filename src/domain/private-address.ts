import { BlockList, isIP } from 'node:net'

/** Whether a URL names an address or a host of the own machine or network. */
export const isLocalUrl = (url: string): boolean => isLocalHost(new URL(url).hostname.replace(/^\[|\]$/g, ''))

/** @param host a name, or an address without brackets */
export function isLocalHost(host: string): boolean {
  return isPrivateAddress(host) || !/[.:]/.test(host) || /\.(localhost|local|internal)$/.test(host)
}

/**
 * Includes the gateway's own machine and network, its cloud's metadata service, and IPv4 addresses inside
 * IPv6.
 */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address)
  return family !== 0 && PRIVATE.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

/**
 * IANA IPv4 Special-Purpose Address Registry, less what is globally reachable; multicast and class E. The last
 * entry is the host of a virtual machine in Azure, which is reachable there only.
 */
const IPV4 = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
  192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4
  240.0.0.0/4 168.63.129.16/32`

/** The same registry for IPv6; `::/96` holds `::`, `::1` and the IPv4-compatible addresses. */
const IPV6 = `::/96 ::ffff:0:0:0/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20
  5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8`

/** `BlockList` itself checks IPv4-mapped addresses (`::ffff:0:0/96`). */
const PRIVATE = new BlockList()
for (const [network, prefix] of subnets(IPV4)) {
  PRIVATE.addSubnet(network, prefix, 'ipv4')
  // RFC 6052: the last 32 bits of the well-known NAT64 prefix are an IPv4 address.
  PRIVATE.addSubnet(`64:ff9b::${network}`, 96 + prefix, 'ipv6')
}
for (const [network, prefix] of subnets(IPV6)) PRIVATE.addSubnet(network, prefix, 'ipv6')

function subnets(list: string): [network: string, prefix: number][] {
  return list.split(/\s+/).map((subnet) => {
    const [network = '', prefix] = subnet.split('/')
    return [network, Number(prefix)]
  })
}
