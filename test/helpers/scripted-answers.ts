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
  nock(url)
    .persist()
    .get(() => true)
    .reply((request: Request) => {
      seen.push({ url: new URL(request.url), headers: Object.fromEntries(request.headers) })
      const reply = answer(new URL(request.url), seen.length)
      if (reply instanceof Error) throw reply
      return reply
    })
  return { url, agent, seen }
}
