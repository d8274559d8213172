export const NDJSON_TYPE = 'application/x-ndjson'

const JSON_TYPE = 'application/json'

/**
 * Whether `Accept` (RFC 9110 section 12.5.1) prefers the type to JSON, or ranks them equal. Wildcards, and parameters other
 * than `q`, do not count: docs/decisions/0021-accept-is-read-by-us.md.
 */
export function prefersToJson(type: string, accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes(type)) return false
  const qualities = new Map(accept.split(',').map(readRange))
  const quality = qualities.get(type) ?? 0
  return quality > 0 && quality >= (qualities.get(JSON_TYPE) ?? 0)
}

/** Whether `Accept` takes JSON, by its name or a wildcard; without the header anything is taken. */
export function acceptsJson(accept = '*/*'): boolean {
  const qualities = new Map(accept.split(',').map(readRange))
  const quality = qualities.get(JSON_TYPE) ?? qualities.get('application/*') ?? qualities.get('*/*')
  return quality !== undefined && quality > 0
}

/** Smaller bodies fit into a packet or two either way. */
const MIN_COMPRESSED_BYTES = 1024
/** A longer `Accept-Encoding` is ignored. Browsers send about 30 characters. */
const MAX_ACCEPT_ENCODING = 1024

/**
 * The size in bytes from which a body is sent with gzip (RFC 9110 section 12.5.3). `Infinity`: never, because gzip is
 * refused or ranks below no coding. 0: always, because a body without coding is refused.
 */
export function gzipMinimum(acceptEncoding: string | undefined): number {
  if (acceptEncoding === undefined || acceptEncoding.length > MAX_ACCEPT_ENCODING)
    return Number.POSITIVE_INFINITY
  const qualities = new Map(acceptEncoding.split(',').map(readRange))
  const wildcard = qualities.get('*')
  const gzip = qualities.get('gzip') ?? qualities.get('x-gzip') ?? wildcard ?? 0
  const identity = qualities.get('identity') ?? wildcard
  if (gzip <= 0 || (identity !== undefined && identity > gzip)) return Number.POSITIVE_INFINITY
  return identity !== undefined && identity <= 0 ? 0 : MIN_COMPRESSED_BYTES
}

function readRange(range: string): [type: string, quality: number] {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return [type, weight === undefined ? 1 : Number(weight.slice(2)) || 0]
}
