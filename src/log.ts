import { write } from 'node:fs'
import { isatty } from 'node:tty'
import { type Logger, pino } from 'pino'
import type { LogLevel } from './config/settings.ts'
import { safeText } from './domain/safe-text.ts'
import { formatJson, isJsonObject, parseObject } from './json/value.ts'

export type { Logger }

export const STDERR = 2
/** Characters that wait to be written; lines beyond are dropped. */
const MAX_WAITING = 4 * 1024 * 1024
/** Wait before a retry at a busy destination (EAGAIN), in ms. */
const BUSY_DELAY = 100
const NEWLINE = 0x0a
const WARN = 40

/** JSON lines on stderr, since stdout is for data. Redacts members that could carry a secret. */
export const createLogger = (
  level: LogLevel,
  destination: { write(line: string): void } = new LogDestination(STDERR),
): Logger =>
  pino(
    {
      level,
      base: null,
      redact: {
        paths: ['key', 'token', 'authorization', '*.key', '*.token', '*.authorization', '*.privateKey'],
        censor: '[redacted]',
      },
    },
    destination,
  )

/** Never throws or blocks: lines that cannot be written (full disk, closed pipe) are dropped and counted. */
export class LogDestination {
  readonly #descriptor: number
  readonly #isTerminal: boolean
  #waiting: string[] = []
  #length = 0
  #isWriting = false
  /** Whether the last byte written ends a line. */
  #endsLine = true
  #dropped = 0
  #reported = 0

  constructor(descriptor: number) {
    this.#descriptor = descriptor
    this.#isTerminal = isatty(descriptor)
  }

  get dropped(): number {
    return this.#dropped
  }

  write(line: string): void {
    if (this.#length + line.length > MAX_WAITING) {
      this.#dropped++
      return
    }
    this.#waiting.push(line)
    this.#length += line.length
    if (!this.#isWriting) this.#writeWaiting()
  }

  #writeWaiting(): void {
    this.#isWriting = this.#waiting.length > 0
    if (!this.#isWriting) return
    const lines = (this.#isTerminal ? this.#waiting.map(textOf) : this.#waiting).join('')
    this.#waiting = []
    this.#length = 0
    this.#write(Buffer.from(this.#endsLine ? lines : `\n${lines}`))
  }

  #write(bytes: Buffer): void {
    write(this.#descriptor, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#write(bytes), BUSY_DELAY).unref()
        return
      }
      if (error !== null) {
        this.#dropped += bytes.filter((byte) => byte === NEWLINE).length
      } else {
        this.#endsLine = bytes[written - 1] === NEWLINE
        if (written < bytes.length) return this.#write(bytes.subarray(written))
        this.#report()
      }
      this.#writeWaiting()
    })
  }

  #report(): void {
    const count = this.#dropped - this.#reported
    if (count === 0) return
    this.#reported = this.#dropped
    this.#waiting.push(
      `${JSON.stringify({ level: WARN, time: Date.now(), count, msg: 'log lines dropped' })}\n`,
    )
  }
}

/** A line for people: `13:45:02 warn   circuit breaker opened  upstream="a"  reason="timeout"`, and the stack of an error below. */
function textOf(json: string): string {
  const { level, time, msg, err = null, ...members } = parseObject(json)
  const name = pino.levels.labels[Number(level)] ?? ''
  const head = `${new Date(Number(time)).toTimeString().slice(0, 8)} ${name.padEnd(5)}  ${msg}`
  const words = Object.entries(members).map(([key, value]) => `${key}=${formatJson(value)}`)
  const stack = isJsonObject(err) ? String(err.stack).split('\n') : []
  return [[head, ...words].join('  '), ...stack].map((line) => `${safeText(line)}\n`).join('')
}
