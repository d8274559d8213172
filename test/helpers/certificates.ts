import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Certificate } from './fake-registry.ts'

/*
 * Made by openssl, valid for a hundred years, for 127.0.0.1 and for nothing but tests: `ca.pem` (its key is thrown
 * away), `registry.pem` signed by it, and with the same key and the same name, self-signed, `stranger.pem` and `expired.pem`, which
 * ended on 2020-03-01.
 */
const read = (name: string): Buffer => readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url))

const key = read('registry-key')

/** Accepted by clients that trust our authority. */
export const TRUSTED: Certificate = { cert: read('registry'), key }
/** A certificate that no client accepts. */
export const UNTRUSTED: Certificate = { cert: read('stranger'), key }

/** Trusted, and out of date. */
export const EXPIRED: Certificate = { cert: read('expired'), key }

/** This process trusts our authority, and the certificate that has expired, from now on. */
export const trustOurAuthority = (): void =>
  setDefaultCACertificates([
    ...getCACertificates('default'),
    read('ca').toString(),
    read('expired').toString(),
  ])
