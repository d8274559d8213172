import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { ExecutionContext } from 'ava'
import nock from 'nock'
import type { Dispatcher } from 'undici'
import { createAgent } from '../../src/upstream/http/agent.ts'
import { upstreamOptions } from './upstream.ts'

export type ScriptedAnswer = [status: number, body: string | Buffer, headers?: Record<string, string>]

type ScriptedAnswers = {
  url: string
  agent: Dispatcher
  /** Requests so far, oldest first. */
  seen: { url: URL; headers: Record<string, string> }[]
}

let hosts = 0

/** An upstream without a socket: `nock` answers every request to it, and blocks all others. */
export function scriptAnswers(
  t: ExecutionContext,
  answer: (url: URL, request: number) => ScriptedAnswer | Error,
): ScriptedAnswers {
  nock.disableNetConnect()
  const url = `http://registry-${++hosts}.example`
  const agent = createAgent(upstreamOptions({ url }), lookup as LookupFunction)
  t.teardown(() => agent.destroy())
  const seen: ScriptedAnswers['seen'] = []
  const reply = (request: Request) => {
    seen.push({ url: new URL(request.url), headers: Object.fromEntries(request.headers) })
    const answered = answer(new URL(request.url), seen.length)
    if (answered instanceof Error) throw answered
    return answered
  }
  for (const method of ['get', 'delete'] as const)
    nock(url)
      .persist()
      [method](() => true)
      .reply(reply)
  return { url, agent, seen }
}
