import { Dispatcher } from 'undici'

/** A response, or the code of a connection error. */
export type ScriptedReply =
  | { status: number; headers?: Readonly<Record<string, string>>; body?: string }
  | { error: string }

/** Answers the requests of undici in this process, many thousands a second. Every reply without a body is `{}`. */
export class ScriptedDispatcher extends Dispatcher {
  readonly #answer: (url: URL) => ScriptedReply

  constructor(answer: (url: URL) => ScriptedReply) {
    super()
    this.#answer = answer
  }

  override dispatch(
    { origin, path }: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const controller = new Controller()
    const reply = this.#answer(new URL(`${origin}${path}`))
    queueMicrotask(() => {
      handler.onRequestStart?.(controller, {})
      if ('error' in reply) {
        handler.onResponseError?.(controller, Object.assign(new Error(reply.error), { code: reply.error }))
        return
      }
      const { status, headers = {}, body = '{}' } = reply
      handler.onResponseStart?.(controller, status, { 'content-type': 'application/json', ...headers })
      if (!controller.aborted) handler.onResponseData?.(controller, Buffer.from(body))
      if (!controller.aborted) handler.onResponseEnd?.(controller, {})
    })
    return true
  }
}

class Controller implements Dispatcher.DispatchController {
  aborted = false
  paused = false
  reason: Error | null = null

  abort(reason: Error): void {
    this.aborted = true
    this.reason = reason
  }

  pause(): void {}

  resume(): void {}
}
