import { type Logger, pino } from 'pino'
import type { LogLevel } from './config/settings.ts'

export type { Logger }

/** JSON lines on stderr, so that stdout stays free for data. Members that could carry a secret are cut. */
export const createLogger = (level: LogLevel): Logger =>
  pino(
    {
      level,
      base: null,
      redact: {
        paths: ['key', 'token', 'authorization', '*.key', '*.token', '*.authorization', '*.privateKey'],
        censor: '[redacted]',
      },
    },
    pino.destination(2),
  )
