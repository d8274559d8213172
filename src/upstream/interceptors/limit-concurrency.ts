import { SourceError } from '../../domain/source/source-error.ts'
import { type Interceptor, PURPOSES, refuse, type UpstreamRequest, whenEnded } from '../http/request.ts'

export const MAX_QUEUED = 1024
/** Share of the requests in flight that may be for single listings. */
const MAX_SINGLE_SHARE = 0.5

/**
 * Waiting requests have turns: first pages of questions, single listings and later pages, and among these the questions.
 * Beyond `MAX_QUEUED` waiting requests, a request fails as `budget_spent`.
 */
export function limitConcurrency(maxInFlight: number): Interceptor {
  const first = new Lane(maxInFlight)
  const single = new Lane(Math.ceil(maxInFlight * MAX_SINGLE_SHARE))
  const later = new Lane(maxInFlight)
  /** The one whose latest turn is longest ago is first. */
  const lanes = [first, single, later]
  const begun = new WeakSet<object>()
  let isStarting = false

  function laneOf({ purpose, question }: UpstreamRequest): Lane | null {
    const { lane } = PURPOSES[purpose]
    if (lane === 'none') return null
    if (lane !== 'turns') return lane === 'single' ? single : first
    if (begun.has(question)) return later
    begun.add(question)
    return first
  }

  /** A request may end while it is sent: a call for each of them would be as deep as the queue is long. */
  function startAll(): void {
    if (isStarting) return
    isStarting = true
    try {
      while (sum(lanes, 'inFlight') < maxInFlight) {
        const at = lanes.findIndex((lane) => lane.canStart)
        if (at === -1) return
        const [lane] = lanes.splice(at, 1)
        lanes.push(lane!)
        lane!.start()
      }
    } finally {
      isStarting = false
    }
  }

  return (dispatch) => (request, handler) => {
    const { upstream, question } = request
    const lane = laneOf(request)
    if (lane === null) return dispatch(request, handler)
    if (sum(lanes, 'waiting') >= MAX_QUEUED)
      return refuse(
        handler,
        new SourceError('budget_spent', `${upstream}: ${MAX_QUEUED} requests are queued`),
      )
    const leave = (): void => {
      lane.inFlight--
      startAll()
    }
    lane.join(question, () => void dispatch(request, whenEnded(handler, leave)))
    startAll()
    return true
  }
}

/** Requests of one kind, by question. The question whose latest turn is longest ago is first. */
class Lane {
  readonly #maxInFlight: number
  readonly #questions = new Map<object, (() => void)[]>()
  inFlight = 0
  waiting = 0

  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight
  }

  get canStart(): boolean {
    return this.waiting > 0 && this.inFlight < this.#maxInFlight
  }

  join(question: object, send: () => void): void {
    const requests = this.#questions.get(question)
    if (requests === undefined) this.#questions.set(question, [send])
    else requests.push(send)
    this.waiting++
  }

  start(): void {
    const [question, requests] = this.#questions.entries().next().value!
    this.#questions.delete(question)
    const send = requests.shift()!
    if (requests.length > 0) this.#questions.set(question, requests)
    this.waiting--
    this.inFlight++
    send()
  }
}

function sum(lanes: readonly Lane[], count: 'waiting' | 'inFlight'): number {
  return lanes.reduce((total, lane) => total + lane[count], 0)
}
