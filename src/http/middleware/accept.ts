export const NDJSON_TYPE = 'application/x-ndjson'

const JSON_TYPE = 'application/json'

/** Whether `Accept` (RFC 9110 section 12.5.1) prefers NDJSON to JSON, or ranks them equal. */
export const wantsNdjson = (accept: string | undefined): boolean => wants(accept, NDJSON_TYPE)

/** The same for `text/html`. Browsers name it; programs that accept anything do not. */
export const wantsHtml = (accept: string | undefined): boolean => wants(accept, 'text/html')

/** Wildcards, and parameters other than `q`, do not count: docs/decisions/0021-accept-is-read-by-us.md. */
function wants(accept: string | undefined, type: string): boolean {
  if (accept === undefined || !accept.toLowerCase().includes(type)) return false
  const qualities = new Map(accept.split(',').map(readRange))
  const quality = qualities.get(type) ?? 0
  return quality > 0 && quality >= (qualities.get(JSON_TYPE) ?? 0)
}

function readRange(range: string): [type: string, quality: number] {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return [type, weight === undefined ? 1 : Number(weight.slice(2)) || 0]
}
