import type { DemoMarket } from './market.ts'

/** What the spellings of sellers cost a reader, and commands to try, ready to paste. */
export async function tour(market: DemoMarket): Promise<string> {
  const { gateway, registries, readerKey, operatorKey, published } = market
  const [meant, spelled] = await Promise.all(
    ['gpu=H100', 'gpu_model=H100'].map((query) => count(gateway, query)),
  )
  return `Its sellers write one model in three ways: the filter gpu_model=H100 finds ${spelled} listings, gpu=H100 all ${meant}.

A market on loopback, ${published} signed listings in three Registries:
${Object.entries(registries)
  .map(
    ([name, url]) =>
      `  ${name.padEnd(12)} ${url}${name === 'curated' ? '   (private: reads need a key)' : ''}`,
  )
  .join('\n')}
each a process of its own, and a gateway over all:
  ${'gateway'.padEnd(12)} ${gateway}

In a browser:
  the board            ${gateway}/           API key, for the private Registry: ${readerKey}
  the operator's page  ${gateway}/operator   operator's key: ${operatorKey}
  the documentation    ${gateway}/docs

Try:
  curl -s '${gateway}/listings?limit=3'
  curl -s '${gateway}/listings?gpu=H200&sort=price&price_token=USDC&limit=3'   # the cheapest per GPU-hour
  curl -s '${gateway}/facets?by=gpu,country'
  curl -s '${gateway}/listings?limit=3' -H 'Authorization: Bearer ${readerKey}'   # sees the private Registry, too
  curl -s '${gateway}/filter-spec'
  npm run -s entrepot -- listings -r ${gateway} --gpu H200 --continent Europe --sort price --limit 10 --table
  npm run -s entrepot -- listings -r ${registries['open-market']},${registries['co-located']} --table

For agents (MCP): ${gateway}/mcp, or on stdin and stdout: npm run -s entrepot -- mcp -r ${gateway}

Ctrl-C stops all.
`
}

/** As a visitor without a key sees them, on the board too. */
async function count(gateway: string, query: string): Promise<number> {
  const answer = await fetch(`${gateway}/listings?limit=1&${query}`)
  return ((await answer.json()) as { total_after_filter: number }).total_after_filter
}
