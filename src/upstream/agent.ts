import { type LookupAllOptions, lookup as systemLookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { Agent, buildConnector } from 'undici'
import type { UpstreamOptions } from '../domain/upstream.ts'
import { isPrivateAddress } from './private-addresses.ts'

/** Below the 5 s at which a Node server closes an idle connection: a socket older than that may be dead. */
const KEEP_ALIVE_MS = 4000

/** An upstream that leads to an address it may not lead to. */
export class PrivateAddressError extends Error {
  readonly code = 'ENTREPOT_PRIVATE_ADDRESS'
}

/**
 * The connections to one upstream. Redirects are never followed. Unless `allowPrivateAddresses`, an address that is
 * not globally routed is refused, be it written in the URL or what its name resolves to: the address checked is the
 * address connected to.
 * @param lookup resolves names; default: as the system does
 */
export const createAgent = (
  upstream: Pick<UpstreamOptions, 'connectTimeoutMs' | 'maxInFlight' | 'allowPrivateAddresses'>,
  lookup: LookupFunction = systemLookup as LookupFunction,
): Agent =>
  new Agent({
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connections: upstream.maxInFlight,
    connect: connector(upstream, lookup),
  })

const connector = (
  {
    connectTimeoutMs,
    allowPrivateAddresses,
  }: Pick<UpstreamOptions, 'connectTimeoutMs' | 'allowPrivateAddresses'>,
  lookup: LookupFunction,
): buildConnector.connector => {
  const timeout = connectTimeoutMs
  if (allowPrivateAddresses) return buildConnector({ timeout, allowH2: false, lookup })
  const connect = buildConnector({ timeout, allowH2: false, lookup: publicOnly(lookup) })
  return (target, callback) => {
    // A literal address is never looked up.
    const literal = target.hostname.replace(/^\[|\]$/g, '')
    if (isPrivateAddress(literal)) callback(refusal(literal, literal), null)
    else connect(target, callback)
  }
}

/** A name is refused as a whole when any of its addresses is private. */
const publicOnly =
  (lookup: LookupFunction): LookupFunction =>
  (hostname, options, callback) => {
    const all: LookupAllOptions = { ...options, all: true }
    lookup(hostname, all, (error, found) => {
      const addresses = error === null && Array.isArray(found) ? found : []
      const [first] = addresses
      if (first === undefined) return callback(error, '')
      const hidden = addresses.find(({ address }) => isPrivateAddress(address))
      if (hidden !== undefined) return callback(refusal(hostname, hidden.address), '')
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family)
    })
  }

const refusal = (host: string, address: string): PrivateAddressError =>
  new PrivateAddressError(
    `${host} leads to the private address ${address}; set allow_private_addresses if that is meant`,
  )
