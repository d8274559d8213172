import { loadConfig } from './config/config.ts'
import { type Context, createContext } from './context/context.ts'
import { ConfigError, EntrepotError } from './errors.ts'
import { startService } from './service.ts'

/** EX_CONFIG of sysexits.h. */
const EXIT_CONFIG = 78
const EXIT_FAILURE = 1
/** Idle time of kept-alive connections during a drain, in ms: longer than a client pauses. */
const IDLE_MS = 1000

/** Runs until SIGINT or SIGTERM; SIGHUP reloads. Resolves with the exit code. */
export async function serve(): Promise<number> {
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

/** Handles SIGHUP from the start: without a listener it would end the process. */
function reloadSignals(): { begin: (context: Context) => void; end: () => void } {
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
