import { loadConfig } from './config.ts'
import { type Context, createContext } from './context.ts'
import { ConfigError, EntrepotError } from './errors.ts'
import { startService } from './service.ts'

/** EX_CONFIG of sysexits.h. */
const EXIT_CONFIG = 78
/** What is needed could not be reached. */
const EXIT_FAILURE = 1
/** Longer than a client takes from an answer to its next request; shorter than anybody waits for a stop. */
const IDLE_MS = 1000

/** Runs the service until SIGINT or SIGTERM; SIGHUP reloads. Resolves with the exit code. */
export const serve = async (): Promise<number> => {
  const reloads = reloadSignals()
  try {
    const context = await createContext(loadConfig())
    const service = await startService(context)
    context.log.info({ url: service.url, upstreams: context.config.upstreams.length }, 'listening')
    reloads.begin(context)
    const signal = await stopSignal()
    reloads.end()
    context.log.info({ signal }, 'draining')
    await service.close(IDLE_MS)
    return 0
  } catch (cause) {
    if (!(cause instanceof ConfigError || cause instanceof EntrepotError)) throw cause
    process.stderr.write(`${cause.message}\n`)
    return cause instanceof ConfigError ? EXIT_CONFIG : EXIT_FAILURE
  }
}

/** SIGHUP from the very first on, for it would end a process that does not listen to it. */
const reloadSignals = (): { begin: (context: Context) => void; end: () => void } => {
  let context: Context | null = null
  let wasEarly = false
  const reload = (): void => {
    if (context === null) wasEarly = true
    else void context.reload(loadConfig)
  }
  process.on('SIGHUP', reload)
  return {
    begin: (ready) => {
      context = ready
      if (wasEarly) reload()
    },
    end: () => {
      context = null
    },
  }
}

const stopSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
