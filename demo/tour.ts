import type { DemoMarket } from './market.ts'

/** Commands to try, ready to paste. */
export function tour({ gateway, registries, readerKey, published }: DemoMarket): string {
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

The board, in a browser: ${gateway}/   (reader key: ${readerKey})

Try:
  curl -s '${gateway}/listings?limit=3'
  curl -s '${gateway}/listings?gpu_model=H200&gpu_count_min=4'
  curl -s '${gateway}/listings?limit=3' -H 'Authorization: Bearer ${readerKey}'   # sees the private Registry, too
  curl -s '${gateway}/filter-spec'
  npm run -s entrepot -- listings -r ${gateway} --filter gpu_model=H200
  npm run -s entrepot -- listings -r ${registries['open-market']},${registries['co-located']} --table

For agents (MCP): ${gateway}/mcp, or on stdin and stdout: npm run -s entrepot -- mcp -r ${gateway}

Ctrl-C stops all.
`
}
