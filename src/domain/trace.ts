/** A span's context (W3C Trace Context, level 1). */
export type Trace = {
  /** 32 hexadecimal digits. */
  traceId: string
  /** 16 hexadecimal digits. */
  spanId: string
  isSampled: boolean
  /** `tracestate` as forwarded; may be empty. */
  state: string
  begin?: BeginSpan
}

export type SpanKind = 'server' | 'internal' | 'client'
export type Attributes = Readonly<Record<string, string | number | boolean>>
export type BeginSpan = (name: string, kind: SpanKind, attributes?: Attributes) => Span

export type Span = Trace & {
  set: (attributes: Attributes) => void
  rename: (name: string) => void
  /** @param failure a fixed word for the kind of failure; absent on success */
  end: (failure?: string) => void
}

export type Tracer = (name: string, kind: SpanKind, parent: Trace | undefined, attributes: Attributes) => Span

/** The minimum that the recommendation requires to forward. */
export const MAX_STATE_LENGTH = 512
/** Longer members are dropped first. */
const LONG_MEMBER = 128
/** The recommendation's bound. */
const MAX_MEMBERS = 32
const MAX_TRACEPARENT_LENGTH = 512

export function readTrace(
  traceparent: string | undefined,
  tracestate: string | undefined,
): Trace | undefined {
  if (traceparent === undefined || traceparent.length > MAX_TRACEPARENT_LENGTH) return undefined
  const match = TRACEPARENT.exec(traceparent.trim())
  if (match === null) return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = match
  // Only later versions may have more fields.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1
  return { traceId, spanId, isSampled, state: boundedState(tracestate) }
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

export function traceHeaders(trace: Trace | undefined): Readonly<Record<string, string>> {
  if (trace === undefined) return NONE
  const { traceId, spanId, isSampled, state } = trace
  const traceparent = `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
  return state === '' ? { traceparent } : { traceparent, tracestate: state }
}

const NONE = {}

/** Empty where a member is malformed or repeated; drops members beyond the length. */
function boundedState(tracestate: string | undefined): string {
  if (tracestate === undefined || tracestate.length > MAX_MEMBERS * MAX_STATE_LENGTH) return ''
  const members = tracestate
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '')
  const keys = new Set(members.map((member) => member.split('=', 1)[0]))
  const isValid = keys.size === members.length && members.every((member) => MEMBER.test(member))
  if (members.length > MAX_MEMBERS || !isValid) return ''
  const isTooLong = (list: readonly string[]): boolean => list.join(',').length > MAX_STATE_LENGTH
  let rest = isTooLong(members) ? members.filter(({ length }) => length <= LONG_MEMBER) : members
  while (isTooLong(rest)) rest = rest.slice(0, -1)
  return rest.join(',')
}

const MEMBER =
  /^([a-z0-9][_0-9a-z\-*/]{0,240}@[a-z][_0-9a-z\-*/]{0,13}|[a-z][_0-9a-z\-*/]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/
