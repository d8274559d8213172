import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { EntrepotError } from '../errors.ts'
import { COMMON_HEADERS } from './common-headers.ts'
import { PROBLEM_TYPE, problemOf } from './problem.ts'

export const MAX_HEADER_BYTES = 64 * 1024

/** The rest of a refused request is read and dropped: a reset could overtake the answer. */
const LINGER_MS = 2000

export function answerUnreadable(cause: NodeJS.ErrnoException, socket: Socket): void {
  const { status, headers, body } = problemOf(refusalOf(cause))
  const lines = [
    ...COMMON_HEADERS,
    ...Object.entries(headers),
    ['Content-Type', PROBLEM_TYPE],
    ['Content-Length', String(Buffer.byteLength(body))],
    ['Connection', 'close'],
  ].map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  const closing = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(closing))
}

function refusalOf({ code }: NodeJS.ErrnoException): EntrepotError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new EntrepotError(
        'headers_too_large',
        `The request line and headers are larger than ${MAX_HEADER_BYTES} bytes`,
      )
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new EntrepotError('too_large', 'The chunk extensions are too large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new EntrepotError('request_timeout', 'The request took too long to arrive')
    default:
      return new EntrepotError('bad_request', 'The request is not valid HTTP')
  }
}
