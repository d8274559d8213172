import { parentPort } from 'node:worker_threads'

/** A worker's first message: it can take tasks. */
export const READY = 'ready'

export type WorkerAnswer<Result> = { result: Result } | { error: unknown }

/**
 * Answers the tasks of a `WorkerPool`, in its worker.
 * @param transferOf memory of a result that changes hands instead of being copied
 */
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
