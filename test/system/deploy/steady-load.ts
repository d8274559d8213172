import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { eventually } from '../../helpers/eventually.ts'

type Call = { method: 'GET' | 'POST'; path: string; headers?: Record<string, string>; body?: string }

/** One request with its status and text, or the reason of a missing answer. Times as `performance.now()`. */
export type RequestOutcome = { call: Call; startedAt: number; status: number | null; text: string }

/** Clients that send one request after another over keep-alive connections until they are stopped. */
export class SteadyLoad {
  readonly outcomes: RequestOutcome[] = []
  readonly #url: string
  readonly #clients: Promise<void>[]
  #stopped = false

  /** @param next the next call of the nth client */
  constructor(url: string, clients: number, pauseMs: number, next: (client: number, turn: number) => Call) {
    this.#url = url
    this.#clients = Array.from({ length: clients }, async (_, client) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      for (let turn = 0; !this.#stopped; turn++) {
        const call = next(client, turn)
        const startedAt = performance.now()
        const answer = await this.#ask(call, agent).catch((cause: Error) => ({
          status: null,
          text: String(cause),
        }))
        this.outcomes.push({ call, startedAt, ...answer })
        await setTimeout(pauseMs)
      }
      agent.destroy()
    })
  }

  /** Resolves after `count` further answers. */
  async goOn(answers: number): Promise<void> {
    const enough = this.outcomes.length + answers
    await eventually(
      `${enough} answers`,
      () => this.outcomes.length,
      (count) => count >= enough,
    )
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#clients)
  }

  async #ask(
    { method, path, headers = {}, body }: Call,
    agent: Agent,
  ): Promise<{ status: number; text: string }> {
    const outgoing = request(`${this.#url}${path}`, { method, headers, agent })
    outgoing.end(body)
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    let text = ''
    for await (const part of answer.setEncoding('utf8')) text += part
    return { status: answer.statusCode!, text }
  }
}
