import type { ServerResponse } from 'node:http'
import { envelopeText, listingTexts } from './fake-registry.ts'
import { listen } from './listen.ts'
import type { Teardown } from './registry.ts'

type ScriptedEntrepot = {
  url: string
  items: string[]
  /** Of a gateway; empty for a Registry. */
  sources: readonly object[]
  /** What each stream sends; the last one repeats. */
  streams: (string | number)[]
  pulls: number
  opened: string[]
  /** Ends the streams in the middle. */
  cut: () => void
}

/** An entrepot whose streams send what the test says, and then nothing. */
export async function startScriptedEntrepot(
  t: Teardown,
  streams: (string | number)[],
): Promise<ScriptedEntrepot> {
  const open: ServerResponse[] = []
  const cut = (): void => {
    for (const response of open.splice(0)) response.destroy()
  }
  const scripted: ScriptedEntrepot = {
    url: '',
    items: listingTexts('x', 2),
    sources: [],
    streams,
    pulls: 0,
    opened: [],
    cut,
  }
  scripted.url = await listen(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://scripted')
    const json = { 'content-type': 'application/json' }
    if (pathname === '/listings') {
      scripted.pulls++
      response.writeHead(200, { ...json, 'changes-position': `from-pull-${scripted.pulls}` })
      const { items, sources } = scripted
      const more = sources.length > 0 ? { complete: false, sources } : {}
      response.end(envelopeText(items, items.length, more))
    } else if (pathname === '/changes') {
      scripted.opened.push(searchParams.get('since')!)
      const stream = scripted.streams.length > 1 ? scripted.streams.shift()! : scripted.streams[0]!
      if (typeof stream === 'number') response.writeHead(stream, json).end('{}')
      else {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`: hello\n\n${stream}`)
        open.push(response)
      }
    } else response.writeHead(404, json).end('{}')
  })
  return scripted
}
