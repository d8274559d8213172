import test from 'ava'
import { agentAt } from '../../helpers/agent.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'

for (const name of ['local', 'house'])
  test(`answered: the own Registry without listings counts nowhere, also as ${name}`, async (t) => {
    const upstreams = await Promise.all(
      ['a', 'b'].map(async (one) => ({
        name: one,
        url: (
          await startFake(t, {
            items: listingTexts(one, 2),
            filterSpec: specBody('etag', [filterOf('gpu_model')]),
          })
        ).url,
      })),
    )
    const gateway = await startGateway(t, upstreams, { more: `[registry]\nname = "${name}"` })
    const agent = await agentAt(t, gateway.url)
    const words = {
      '/facets': (await gateway.get('/facets')).json().summary as string,
      search_listings: (await agent.call('search_listings')).notice,
      market_overview: (await agent.call('market_overview')).notice,
      describe_filters: (await agent.call('describe_filters')).notice,
      list_sources: (await agent.call('list_sources')).notice,
    }
    for (const [door, text] of Object.entries(words)) t.regex(text, /2 of 2 answered/, door)
  })
