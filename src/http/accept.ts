export const NDJSON_TYPE = 'application/x-ndjson'

/** Whether an `Accept` (RFC 9110 section 12.5.1) names `application/x-ndjson`, and `application/json` no more than it. */
export const wantsNdjson = (accept: string | undefined): boolean => {
  if (accept === undefined || !/ndjson/i.test(accept)) return false
  const qualities = new Map(accept.split(',').map(readRange))
  const quality = qualities.get(NDJSON_TYPE) ?? 0
  return quality > 0 && quality >= (qualities.get('application/json') ?? 0)
}

const readRange = (range: string): [type: string, quality: number] => {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return [type, weight === undefined ? 1 : Number(weight.slice(2)) || 0]
}
