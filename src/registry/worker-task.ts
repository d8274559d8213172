import { parentPort } from 'node:worker_threads'

export const READY = 'ready'

export type WorkerAnswer<Result> = { result: Result } | { error: unknown }

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
