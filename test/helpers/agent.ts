import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { ExecutionContext } from 'ava'
import { BIN } from './run-cli.ts'

/** A tool's result. */
type ToolReply = {
  /** The first line, which is ours alone. */
  notice: string
  /** The lines after it. */
  lines: string[]
  /** All text blocks. */
  text: string
  /** The exact JSON of the second block, and what it says; empty without one. */
  json: string
  value: Answer
  isError: boolean
}

export type Answer = {
  complete: boolean
  sources: { registry: string; state: string; reason?: string }[]
  items: {
    listing_id: string
    _meta: { registry: string; price?: { amount: string; symbol?: string; outlier?: true } }
  }[]
  count: number
  listing: { listing_id: string; _meta: { registry: string; age_seconds?: number } } | null
  filters: {
    name: string
    meaning: string
    registries?: string[]
    allowed?: string[]
    values?: { value: string; count: number }[]
    other?: number
  }[]
  total: number
  facets: Record<
    string,
    { values: { value: string; count: number; prices?: AnswerPrice[] }[]; other: number; missing: number }
  >
  prices: AnswerPrice[]
  next_cursor?: string
  total_after_filter: number
}

type AnswerPrice = { symbol?: string; offers: number; least: string; median: string; most: string }

type Agent = {
  client: Client
  call: (tool: string, args?: Record<string, unknown>) => Promise<ToolReply>
  /** The same with `detail: "full"`. */
  read: (tool: string, args?: Record<string, unknown>) => Promise<ToolReply>
}

/** The SDK's own client of a gateway, with a key or without. */
export function agentAt(t: ExecutionContext, url: string, key?: string): Promise<Agent> {
  const headers: Record<string, string> = key === undefined ? {} : { Authorization: `Bearer ${key}` }
  return connect(t, new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
}

/** The SDK's own client on the stdin and stdout of the real executable. */
export const agentOver = (t: ExecutionContext, args: readonly string[]): Promise<Agent> =>
  connect(
    t,
    new StdioClientTransport({
      command: process.execPath,
      args: [BIN, 'mcp', ...args],
      env: { HOME: '/nonexistent' },
      stderr: 'ignore',
    }),
  )

async function connect(
  t: ExecutionContext,
  transport: Transport | StreamableHTTPClientTransport,
): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport as Transport)
  t.teardown(() => client.close())
  const call: Agent['call'] = async (name, args = {}) =>
    toReply((await client.callTool({ name, arguments: args })) as CallToolResult)
  return { client, call, read: (name, args = {}) => call(name, { ...args, detail: 'full' }) }
}

function toReply({ content, isError = false }: CallToolResult): ToolReply {
  const blocks = content.map((block) => (block.type === 'text' ? block.text : ''))
  const [first = '', json = '{}'] = blocks
  const [notice = '', ...lines] = first.split('\n')
  return { notice, lines, text: blocks.join('\n'), json, value: JSON.parse(json), isError }
}
