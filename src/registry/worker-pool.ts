import { parentPort, Worker } from 'node:worker_threads'
import { EntrepotError } from '../errors.ts'

export type WorkerPoolOptions = {
  file: URL
  threads: number
  workerData?: unknown
  /** Idle threads end after this, in ms. Default: when the pool closes. */
  idleMs?: number
  /** Called once for each thread that could not be started or broke off. */
  onFault?: ((cause: unknown) => void) | undefined
}

/**
 * Starts threads on demand. When the last one fails, queued tasks reject as `unavailable`, and the next task
 * starts one again: a lack of threads, memory or file descriptors must not end the process.
 */
export class WorkerPool<Task, Result> {
  readonly #options: WorkerPoolOptions
  readonly #threads = new Set<Thread<Result>>()
  readonly #waiting: Job<Task, Result>[] = []
  #closed = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Rejects with the task's error or `unavailable`. `transfer` moves only when a thread takes the task. */
  run(task: Task, transfer: readonly ArrayBuffer[] = []): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(unavailable(new Error('the pool is closed')))
      this.#waiting.push({ task, transfer, resolve, reject })
      this.#dispatch()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    const threads = [...this.#threads]
    for (const thread of threads) this.#remove(thread, new Error('the pool is closed'))
    this.#rejectWaiting(new Error('the pool is closed'))
    await Promise.all(threads.map(({ worker }) => worker.terminate()))
  }

  #dispatch(): void {
    for (const thread of this.#threads) if (thread.state === 'idle') this.#give(thread)
    const starting = [...this.#threads].filter(({ state }) => state === 'starting').length
    const wanted = Math.min(this.#waiting.length - starting, this.#options.threads - this.#threads.size)
    for (let n = 0; n < wanted; n++) if (!this.#start()) return
  }

  #start(): boolean {
    const { file, workerData, onFault } = this.#options
    try {
      const worker = new Worker(file, { workerData })
      const thread: Thread<Result> = { worker, state: 'starting', job: null, idleTimer: undefined }
      worker.on('message', (message: typeof READY | WorkerAnswer<Result>) => this.#hear(thread, message))
      worker.on('error', (cause) => this.#lose(thread, cause))
      worker.on('messageerror', (cause) => this.#lose(thread, cause))
      worker.on('exit', (code) => this.#lose(thread, new Error(`the thread ended with code ${code}`)))
      this.#threads.add(thread)
      return true
    } catch (cause) {
      onFault?.(cause)
      if (this.#threads.size === 0) this.#rejectWaiting(cause)
      return false
    }
  }

  #hear(thread: Thread<Result>, message: typeof READY | WorkerAnswer<Result>): void {
    const { job } = thread
    thread.state = 'idle'
    thread.job = null
    if (message !== READY) {
      if ('error' in message) job?.reject(message.error)
      else job?.resolve(message.result)
    }
    this.#give(thread)
  }

  /** Runs the oldest task; without one, the thread ends after a while. */
  #give(thread: Thread<Result>): void {
    clearTimeout(thread.idleTimer)
    const job = this.#waiting.shift()
    if (job === undefined) {
      this.#rest(thread)
      return
    }
    try {
      thread.worker.postMessage(job.task, [...job.transfer])
      thread.worker.ref()
      thread.state = 'busy'
      thread.job = job
    } catch (cause) {
      job.reject(cause)
      this.#give(thread)
    }
  }

  #rest(thread: Thread<Result>): void {
    thread.worker.unref()
    const { idleMs } = this.#options
    if (idleMs === undefined) return
    const end = (): void => {
      this.#threads.delete(thread)
      void thread.worker.terminate()
    }
    thread.idleTimer = setTimeout(end, idleMs).unref()
  }

  /** Called more than once per thread: for `error` and for `exit`. */
  #lose(thread: Thread<Result>, cause: unknown): void {
    if (!this.#threads.has(thread)) return
    this.#remove(thread, cause)
    this.#options.onFault?.(cause)
    if (this.#threads.size === 0) this.#rejectWaiting(cause)
  }

  #remove(thread: Thread<Result>, cause: unknown): void {
    this.#threads.delete(thread)
    clearTimeout(thread.idleTimer)
    thread.job?.reject(unavailable(cause))
  }

  #rejectWaiting(cause: unknown): void {
    for (const job of this.#waiting.splice(0)) job.reject(unavailable(cause))
  }
}

type Thread<Result> = {
  worker: Worker
  state: 'starting' | 'idle' | 'busy'
  job: Pick<Job<unknown, Result>, 'resolve' | 'reject'> | null
  idleTimer: NodeJS.Timeout | undefined
}

type Job<Task, Result> = {
  task: Task
  transfer: readonly ArrayBuffer[]
  resolve: (result: Result) => void
  reject: (cause: unknown) => void
}

function unavailable(cause: unknown): EntrepotError {
  return new EntrepotError('unavailable', 'No worker thread is available right now; try again shortly', {
    cause,
    headers: { 'Retry-After': '1' },
  })
}

const READY = 'ready'

type WorkerAnswer<Result> = { result: Result } | { error: unknown }

/** Serves a `WorkerPool` in its worker. `transferOf`: memory of a result that is moved, not copied. */
export function serveTasks<Task, Result>(
  run: (task: Task) => Result | Promise<Result>,
  transferOf: (result: Result) => ArrayBuffer[] = () => [],
): void {
  const port = parentPort!
  port.on('message', async (task: Task) => {
    try {
      const result = await run(task)
      port.postMessage({ result } satisfies WorkerAnswer<Result>, transferOf(result))
    } catch (error) {
      port.postMessage({ error } satisfies WorkerAnswer<Result>)
    }
  })
  port.postMessage(READY)
}
