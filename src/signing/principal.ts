import type { PublisherIdentity } from '../domain/publisher.ts'
import { isJsonObject, type JsonValue } from '../json/value.ts'

export const SCHEMES = ['eip191', 'ed25519'] as const
export type Scheme = (typeof SCHEMES)[number]

/** Who signs: a wallet, or a key of Ed25519. The identifier is canonical, so principals are equal as text. */
export type Principal = Readonly<{ scheme: Scheme; identifier: string }>

/** Bytes of a seed, a private key and a public key. */
export const KEY_BYTES = 32

/** `null` for an unknown scheme, and for text that is no address or public key of it. */
export function readPrincipal(scheme: unknown, identifier: unknown): Principal | null {
  if (typeof identifier !== 'string') return null
  if (scheme === 'ed25519') return PUBLIC_KEY.test(identifier) ? { scheme, identifier } : null
  if (scheme !== 'eip191' || !/^0x[0-9a-fA-F]{40}$/.test(identifier)) return null
  return { scheme, identifier: identifier.toLowerCase() }
}

/** 32 bytes in base64url: the last character has four bits, so that others are no canonical spelling. */
const PUBLIC_KEY = /^[\w-]{42}[AEIMQUYcgkosw048]$/

export const isSamePrincipal = (one: Principal, other: Principal): boolean =>
  one.scheme === other.scheme && one.identifier === other.identifier

/** Text of a publisher: the address of a wallet, as the plain line has it, or `ed25519:` and the public key. */
export const publisherOf = ({ scheme, identifier }: PublisherIdentity): string =>
  scheme === 'eip191' ? identifier : `${scheme}:${identifier}`

/** The principal of that text. `null` for anything else. */
export const readPublisher = (text: string): Principal | null =>
  text.startsWith(ED25519_PREFIX)
    ? readPrincipal('ed25519', text.slice(ED25519_PREFIX.length))
    : readPrincipal('eip191', text)

/** The canonical text of a publisher; `null` for text that names none. */
export function publisherNamed(text: string): string | null {
  const principal = readPublisher(text)
  return principal && publisherOf(principal)
}

/** Of one publisher: while one replaces the other. */
export const MAX_ACTIVE_PRINCIPALS = 2
/** Keys of a publisher besides its primary one. */
export const MAX_ALIASES = 32

/** Texts of the principals of a list; none of a longer one. */
export function publishersIn(list: JsonValue | undefined, most: number): string[] {
  if (!Array.isArray(list) || list.length > most) return []
  const principals = list
    .filter(isJsonObject)
    .map(({ scheme, identifier }) => readPrincipal(scheme, identifier))
  return principals.flatMap((one) => (one === null ? [] : publisherOf(one)))
}

const ED25519_PREFIX = 'ed25519:'

/** `null` for another length, padding, and a last character that no encoder writes. */
export function decodeBase64Url(text: string, length: number): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length === length && bytes.toString('base64url') === text ? bytes : null
}
