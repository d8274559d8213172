import { type Interceptor, PURPOSES, whenEnded } from '../http/request.ts'

/** Share of the requests in flight that may be for single listings. */
const MAX_SINGLE_SHARE = 0.5

/** Requests of one kind, in the order in which they came. */
type Lane = { maxInFlight: number; inFlight: number; waiting: (() => void)[] }

/** Waiting requests have turns: first pages, single listings and later pages. What asks for them bounds how many wait. */
export function limitConcurrency(maxInFlight: number): Interceptor {
  const lane = (most: number): Lane => ({ maxInFlight: most, inFlight: 0, waiting: [] })
  const byName = {
    first: lane(maxInFlight),
    single: lane(Math.ceil(maxInFlight * MAX_SINGLE_SHARE)),
    later: lane(maxInFlight),
  }
  /** The one whose latest turn is longest ago is first. */
  const lanes = Object.values(byName)
  let isStarting = false

  /** A request may end while it is sent: a call for each of them would be as deep as the queue is long. */
  function startAll(): void {
    if (isStarting) return
    isStarting = true
    try {
      while (sum(({ inFlight }) => inFlight) < maxInFlight) {
        const at = lanes.findIndex((one) => one.waiting.length > 0 && one.inFlight < one.maxInFlight)
        if (at === -1) return
        const [next] = lanes.splice(at, 1)
        lanes.push(next!)
        next!.inFlight++
        next!.waiting.shift()!()
      }
    } finally {
      isStarting = false
    }
  }

  const sum = (count: (one: Lane) => number): number => lanes.reduce((total, one) => total + count(one), 0)

  return (dispatch) => (request, handler) => {
    const { lane: name } = PURPOSES[request.purpose]
    if (name === 'none') return dispatch(request, handler)
    const own = byName[name]
    const leave = (): void => {
      own.inFlight--
      startAll()
    }
    own.waiting.push(() => void dispatch(request, whenEnded(handler, leave)))
    startAll()
    return true
  }
}
