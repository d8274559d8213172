import type { LookupAddress, LookupAllOptions } from 'node:dns'
import { type LookupFunction, Socket } from 'node:net'
import { type PeerCertificate, TLSSocket } from 'node:tls'
import { Agent, buildConnector } from 'undici'
import { isPrivateAddress } from '../../domain/private-address.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'

/** Below the 5 s after which a Node server closes an idle connection. */
const KEEP_ALIVE_MS = 4000

/** Addresses of a name that one connection has the time to try. */
const ATTEMPTS = 4

/**
 * Begins with the address of a name that was tried last, which is the good one or the next to try. Checks private
 * addresses in the URL and after DNS, so that the checked address is the one connected to.
 * @param onCertificate called with the end of a server's certificate, good or not, in ms since the Unix epoch
 */
export function createAgent(
  {
    connectTimeoutMs: timeout,
    maxInFlight,
    allowPrivateAddresses,
  }: Pick<UpstreamOptions, 'connectTimeoutMs' | 'maxInFlight' | 'allowPrivateAddresses'>,
  lookup: LookupFunction,
  onCertificate: (endsAt: number) => void = () => {},
): Agent {
  const tried = new Map<string, string>()
  const allowed = fromLastTried(allowPrivateAddresses ? lookup : publicOnly(lookup), tried)
  const connect = buildConnector({
    timeout,
    allowH2: false,
    lookup: allowed,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: Math.max(Math.floor(timeout / ATTEMPTS), MIN_ATTEMPT_MS),
  })
  return new Agent({
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // And one for the stream of changes.
    connections: maxInFlight + 1,
    connect: (target, callback) => {
      // Literal addresses skip `lookup`.
      const literal = target.hostname.replace(/^\[|\]$/g, '')
      if (!allowPrivateAddresses && isPrivateAddress(literal)) callback(refusal(literal, literal), null)
      else {
        let endsAt: number | null = null
        const socket: unknown = connect(target, (...[error, connected]) => {
          if (error === null) callback(null, connected)
          else callback(withDate(error, endsAt), null)
        })
        if (socket instanceof Socket)
          socket.on('connectionAttempt', (address) => tried.set(target.hostname, address))
        onPeerCertificate(socket, ({ valid_to }) => {
          endsAt = Date.parse(valid_to)
          if (Number.isFinite(endsAt)) onCertificate(endsAt)
        })
      }
    },
  })
}

/** Node's least. */
const MIN_ATTEMPT_MS = 10

function fromLastTried(lookup: LookupFunction, tried: ReadonlyMap<string, string>): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, options, (error, result, family) => {
      if (error !== null || !Array.isArray(result)) return callback(error, result, family)
      const first = Math.max(
        result.findIndex(({ address }) => address === tried.get(hostname)),
        0,
      )
      callback(null, [...result.slice(first), ...result.slice(0, first)])
    })
}

/** Node emits `secure` before it checks the certificate, and destroys the socket of one that is not good. */
function onPeerCertificate(socket: unknown, take: (certificate: PeerCertificate) => void): void {
  if (!(socket instanceof TLSSocket)) return
  socket.prependOnceListener('secure', () => {
    const certificate = socket.getPeerCertificate()
    if (certificate?.valid_to) take(certificate)
  })
}

function withDate(error: Error, endsAt: number | null): Error {
  if ((error as NodeJS.ErrnoException).code === 'CERT_HAS_EXPIRED' && endsAt !== null)
    error.message = `the certificate expired on ${new Date(endsAt).toISOString().slice(0, DATE_LENGTH)}`
  return error
}

const DATE_LENGTH = '2026-11-20'.length

function publicOnly(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    const all: LookupAllOptions = { ...options, all: true }
    lookup(hostname, all, (error, result) => {
      const addresses: LookupAddress[] = error === null && Array.isArray(result) ? result : []
      const [first] = addresses
      if (first === undefined) return callback(error, '')
      const hidden = addresses.find(({ address }) => isPrivateAddress(address))
      if (hidden !== undefined) return callback(refusal(hostname, hidden.address), '')
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family)
    })
  }
}

function refusal(host: string, address: string): SourceError {
  return new SourceError(
    'private_address',
    `${host} leads to the private address ${address}; set allow_private_addresses if that is intended`,
  )
}
