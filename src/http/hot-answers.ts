import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Reader } from '../domain/api-key.ts'
import type { AppOptions } from './app.ts'
import { type Renewal, renewalBy } from './renewal.ts'
import type { CountAnswer } from './request-metrics.ts'

/** A finished answer, ready to be written. */
type HotAnswer = {
  /** Names and values in turn, which Node writes quickest. */
  headers: string[]
  body: Buffer
  isCurrent: () => boolean
  /** Counts that it was given; made when it first is. */
  count: CountAnswer | null
  /** No longer current, and being made anew. */
  renewal: Renewal | null
}

type HotOptions = Pick<AppOptions, 'authorize' | 'admit'> & {
  /** What counts the answers that are given from here. */
  counter: (request: IncomingMessage, status: number) => CountAnswer
}

/** Of both kinds of readers together. */
export const MAX_HOT_BYTES = 64 * 1024 * 1024
/** A larger answer is not worth its place. */
const MAX_HOT_ANSWER_BYTES = 1024 * 1024

/**
 * Finished answers to reads, kept as bytes and given again for as long as what they were made of has not changed.
 * An optimisation in front of the application, with the same answers: the gate is asked for every request, and any
 * header that could lead to another answer sends the request on.
 */
export class HotAnswers {
  /** By URL. Readers with a key all see the same, and so do readers without. */
  readonly #answers: Record<Reader['kind'], LRUCache<string, HotAnswer>> = {
    anonymous: answersByUrl(),
    key: answersByUrl(),
  }

  keep(
    request: IncomingMessage,
    reader: Reader,
    { headers: sent, ...answer }: Pick<HotAnswer, 'body' | 'isCurrent'> & { headers: OutgoingHttpHeaders },
  ): void {
    if (!isPlainRead(request)) return
    const headers = { ...sent }
    for (const name of OWN_HEADERS) delete headers[name]
    const answers = this.#answers[reader.kind]
    const before = answers.peek(request.url!)
    answers.set(request.url!, { ...answer, headers: linesOf(headers), count: null, renewal: null })
    before?.renewal?.end()
  }

  /**
   * Of those who ask for what is no longer current, one has it made anew, and the others wait for that.
   * @param fallback answers everything that is not kept
   */
  listener({ authorize, admit, counter }: HotOptions, fallback: RequestListener): RequestListener {
    const give = (
      request: IncomingMessage,
      response: ServerResponse,
      { started, mayWait }: { started: number; mayWait: boolean },
    ): unknown => {
      const reader = isPlainRead(request) ? readerOf(request, authorize) : null
      const answer = reader === null ? undefined : this.#answers[reader.kind].get(request.url!)
      if (reader === null || answer === undefined) return fallback(request, response)
      if (!answer.isCurrent()) {
        if (mayWait && answer.renewal !== null)
          return answer.renewal.ended.then(() => give(request, response, { started, mayWait: false }))
        answer.renewal ??= renewalBy(response, () => {
          answer.renewal = null
        })
        return fallback(request, response)
      }
      const write = (counted: Record<string, string> | null): void => {
        const headers = counted === null ? answer.headers : [...answer.headers, ...linesOf(counted)]
        response.writeHead(200, headers).end(answer.body)
        answer.count ??= counter(request, 200)
        answer.count(started)
      }
      const counted = admit(request, 'read', reader)
      return counted === null ? write(null) : counted.then(write, () => fallback(request, response))
    }
    return (request, response) => give(request, response, { started: performance.now(), mayWait: true })
  }
}

const answersByUrl = (): LRUCache<string, HotAnswer> =>
  new LRUCache({
    maxSize: MAX_HOT_BYTES / 2,
    maxEntrySize: MAX_HOT_ANSWER_BYTES,
    sizeCalculation: ({ body }, url) => body.length + url.length,
  })

const linesOf = (headers: OutgoingHttpHeaders): string[] =>
  Object.entries(headers).flatMap(([name, value]) => [value].flat().flatMap((one) => [name, String(one)]))

/** What the answer to one request says of that request alone. */
const OWN_HEADERS = ['x-request-id', 'ratelimit', 'ratelimit-policy', 'server-timing']

/** `null` where the gate is shut: the application says so in its own words. */
const readerOf = (request: IncomingMessage, authorize: AppOptions['authorize']): Reader | null => {
  try {
    return authorize('read', request.headers.authorization)
  } catch {
    return null
  }
}

const isPlainRead = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers['if-match'] === undefined &&
  headers['if-none-match'] === undefined &&
  headers['cache-control'] === undefined &&
  headers.pragma === undefined &&
  headers.origin === undefined &&
  headers['cdn-loop'] === undefined &&
  (headers.accept === undefined || !/ndjson|html/i.test(headers.accept))
