import { loadConfig } from './config.ts'
import { createContext } from './context.ts'
import { ConfigError, EntrepotError } from './errors.ts'
import { startService } from './service.ts'

/** EX_CONFIG of sysexits.h. */
export const EXIT_CONFIG = 78
/** What is needed could not be reached. */
export const EXIT_FAILURE = 1
/** Longer than a client takes from an answer to its next request; shorter than anybody waits for a stop. */
const IDLE_MS = 1000

/** Runs the service until SIGINT or SIGTERM. Resolves with the exit code. */
export const serve = async (): Promise<number> => {
  try {
    const context = await createContext(loadConfig())
    const service = await startService(context)
    context.log.info({ url: service.url, upstreams: context.config.upstreams.length }, 'listening')
    const signal = await stopSignal()
    context.log.info({ signal }, 'draining')
    await service.close(IDLE_MS)
    return 0
  } catch (cause) {
    if (!(cause instanceof ConfigError || cause instanceof EntrepotError)) throw cause
    process.stderr.write(`${cause.message}\n`)
    return cause instanceof ConfigError ? EXIT_CONFIG : EXIT_FAILURE
  }
}

const stopSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
