import type { IncomingMessage } from 'node:http'
import { keyOf, OPERATOR_NAME } from '../../domain/api-key.ts'
import type { Act, NewAuditEntry } from '../../domain/audit.ts'
import { EntrepotError } from '../../errors.ts'
import type { Audit } from '../../registry/audit.ts'
import { publisherOf } from '../../signing/principal.ts'
import type { KoaContext, Middleware } from '../request-state.ts'
import { CLIENT_CLOSED } from './errors.ts'

/** Records what an operator or a seller did, or tried, before it is answered. */
export function recordActs(
  audit: Audit | null,
  nameClient: (request: IncomingMessage) => string,
): Middleware {
  return (context, next) => {
    const { act } = context.state.route
    if (audit === null || act === undefined) return next()
    const record = async (result: string): Promise<void> => {
      const entry = entryOf(context, act, { client: nameClient(context.req), result })
      if (entry !== null) await audit.record(entry)
    }
    return next().then(
      () => record('ok'),
      async (cause) => {
        await record(resultOf(cause))
        throw cause
      },
    )
  }
}

function resultOf(cause: unknown): string {
  if (cause === CLIENT_CLOSED) return 'client_closed'
  return cause instanceof EntrepotError ? cause.code : 'internal'
}

/** `null`: a seller that has signed nothing. The log has the same names. */
function entryOf(
  { state, params }: KoaContext,
  act: Act,
  rest: Pick<NewAuditEntry, 'client' | 'result'>,
): NewAuditEntry | null {
  const { caller, signed, route, notes } = state
  const { wallet, subject = Object.values(params).join(' ') } = notes ?? {}
  const key = keyOf(caller)
  const about = { keyId: key?.id ?? null, act, subject: String(subject), ...rest }
  if (route.gate === 'admin') {
    const by = key?.name ?? OPERATOR_NAME
    state.notes = { ...notes, act, by }
    return { kind: 'operator', by, publisher: null, ...about }
  }
  const publisher = signed === undefined ? wallet : publisherOf(signed.request.principal)
  if (publisher === undefined) return null
  return { kind: 'seller', by: key?.name ?? null, publisher: String(publisher), ...about }
}
