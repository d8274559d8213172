import type { Dispatcher } from 'undici'
import { receive } from '../http/receive.ts'
import type { Interceptor } from '../http/request.ts'
import { trace } from './trace.ts'

type Composition = {
  /** Around each attempt: they see the request as it is sent, and by `read` the whole answer before anything else does. */
  interceptors?: readonly Interceptor[] | undefined
  count?: Interceptor | undefined
  limit?: Interceptor | undefined
  retry?: Interceptor | undefined
  breaker?: Interceptor | undefined
}

/** What every request to an upstream passes, as a dispatcher of undici. The last interceptor is the outermost. */
export function composeRequests(
  agent: Dispatcher,
  { interceptors = [], count, limit, retry, breaker }: Composition = {},
): Dispatcher {
  const around = [receive, ...interceptors, trace, count, limit, retry, breaker]
  return agent.compose(around.filter((interceptor) => interceptor !== undefined))
}
