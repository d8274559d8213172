import type { IncomingMessage, OutgoingHttpHeaders, RequestListener } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Reader } from '../domain/api-key.ts'
import type { AppOptions } from './app.ts'

/** A finished answer, ready to be written. */
type HotAnswer = { headers: OutgoingHttpHeaders; body: Buffer; isCurrent: () => boolean }

export const MAX_HOT_BYTES = 64 * 1024 * 1024
/** A larger answer is not worth its place. */
const MAX_HOT_ANSWER_BYTES = 1024 * 1024

/**
 * Finished answers to reads, kept as bytes and given again for as long as what they were made of has not changed.
 * An optimisation in front of the application, with the same answers: the gate is asked for every request, and any
 * header that could lead to another answer sends the request on.
 */
export class HotAnswers {
  readonly #answers = new LRUCache<string, HotAnswer>({
    maxSize: MAX_HOT_BYTES,
    maxEntrySize: MAX_HOT_ANSWER_BYTES,
    sizeCalculation: ({ body }, key) => body.length + key.length,
  })

  keep(request: IncomingMessage, reader: Reader, answer: HotAnswer): void {
    if (!isPlainRead(request)) return
    const headers = { ...answer.headers }
    delete headers['x-request-id'] // the first request's own
    this.#answers.set(keyOf(request, reader), { ...answer, headers })
  }

  /** @param fallback answers everything that is not kept */
  listener(authorize: AppOptions['authorize'], fallback: RequestListener): RequestListener {
    return (request, response) => {
      const answer = isPlainRead(request) ? this.#find(request, authorize) : undefined
      if (answer === undefined) fallback(request, response)
      else response.writeHead(200, answer.headers).end(answer.body)
    }
  }

  #find(request: IncomingMessage, authorize: AppOptions['authorize']): HotAnswer | undefined {
    const reader = admitted(request, authorize)
    if (reader === null) return undefined
    const key = keyOf(request, reader)
    const answer = this.#answers.get(key)
    if (answer === undefined || answer.isCurrent()) return answer
    this.#answers.delete(key)
    return undefined
  }
}

/** `null` where the gate is shut: the application says so in its own words. */
const admitted = (request: IncomingMessage, authorize: AppOptions['authorize']): Reader | null => {
  try {
    return authorize('read', request.headers.authorization)
  } catch {
    return null
  }
}

/** Readers with a key all see the same, and so do readers without. */
const keyOf = ({ url }: IncomingMessage, reader: Reader): string => `${reader.kind} ${url}`

const isPlainRead = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers['if-match'] === undefined &&
  headers['if-none-match'] === undefined &&
  headers['cache-control'] === undefined &&
  headers.pragma === undefined &&
  headers.origin === undefined &&
  !headers.accept?.includes('ndjson') &&
  !headers.accept?.includes('html')
