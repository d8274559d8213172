import type { DemoMarket } from './market.ts'

/** Commands to try, ready to paste. */
export function tour({ gateway, registries, readerKey, operatorKey, published }: DemoMarket): string {
  const names = Object.keys(registries)
  return `A market on loopback, ${published} signed listings in three Registries:
${Object.entries(registries)
  .map(
    ([name, url]) =>
      `  ${name.padEnd(12)} ${url}${name === 'curated' ? '   (private: reads need a key)' : ''}`,
  )
  .join('\n')}
and a gateway over ${names.length} of them:
  ${'gateway'.padEnd(12)} ${gateway}

In a browser:
  the board            ${gateway}/           API key, for the private Registry: ${readerKey}
  the operator's page  ${gateway}/operator   operator's key: ${operatorKey}
  the documentation    ${gateway}/docs

Try:
  curl -s '${gateway}/listings?limit=3'
  curl -s '${gateway}/listings?gpu_model=H200&sort=price&price_token=USDC&limit=3'   # the cheapest per GPU-hour
  curl -s '${gateway}/facets?by=gpu_model,region'
  curl -s '${gateway}/listings?limit=3' -H 'Authorization: Bearer ${readerKey}'   # sees the private Registry, too
  curl -s '${gateway}/filter-spec'
  npm run -s entrepot -- listings -r ${gateway} --filter gpu_model=H200 --sort price --limit 10 --table
  npm run -s entrepot -- listings -r ${registries['open-market']},${registries['co-located']} --table

For agents (MCP): ${gateway}/mcp, or on stdin and stdout: npm run -s entrepot -- mcp -r ${gateway}

Ctrl-C stops all.
`
}
