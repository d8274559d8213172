import type { IncomingHttpHeaders } from 'node:http'
import type { ExecutionContext } from 'ava'
import { listen } from './listen.ts'

export type ReceivedSpan = {
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  kind: number
  status: number
  attributes: Record<string, string | number | boolean>
}

export type Collector = {
  url: string
  spans: ReceivedSpan[]
  /** The bodies of all requests, as text. */
  bodies: string[]
  resources: Record<string, string | number | boolean>[]
  /** Of every request. */
  headers: IncomingHttpHeaders[]
  /** Statuses of the next answers; the last one repeats. */
  statuses: number[]
}

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean }
type KeyValues = { key: string; value: Value }[]

/** A real collector for OTLP over HTTP in JSON, closed when the test ends. */
export async function startCollector(t: ExecutionContext): Promise<Collector> {
  const collector: Collector = { url: '', spans: [], bodies: [], resources: [], headers: [], statuses: [200] }
  collector.url = await listen(t, async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    collector.headers.push(request.headers)
    const status = (collector.statuses.length > 1 ? collector.statuses.shift() : collector.statuses[0]) ?? 200
    if (status === 200 && request.url === '/v1/traces') {
      collector.bodies.push(body)
      for (const { resource, scopeSpans } of JSON.parse(body).resourceSpans) {
        collector.resources.push(attributesOf(resource.attributes))
        for (const { spans } of scopeSpans) collector.spans.push(...spans.map(spanOf))
      }
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  return collector
}

const spanOf = (span: Record<string, unknown>): ReceivedSpan => ({
  traceId: String(span.traceId),
  spanId: String(span.spanId),
  parentSpanId: String(span.parentSpanId ?? ''),
  name: String(span.name),
  kind: Number(span.kind),
  status: Number((span.status as { code?: number }).code ?? 0),
  attributes: attributesOf(span.attributes as KeyValues),
})

const attributesOf = (pairs: KeyValues): Record<string, string | number | boolean> =>
  Object.fromEntries(
    pairs.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue),
    ]),
  )
