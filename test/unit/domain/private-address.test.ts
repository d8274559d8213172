import test from 'ava'
import { isPrivateAddress } from '../../../src/domain/private-address.ts'

const PRIVATE = `127.0.0.1 127.255.255.254 0.0.0.0 10.1.2.3 100.64.0.1 100.100.100.200 169.254.169.254 172.31.255.255
  192.168.0.1 198.19.0.1 224.0.0.1 255.255.255.255 168.63.129.16 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1
  ::ffff:0:a9fe:a9fe 64:ff9b::169.254.169.254 64:ff9b::a00:1 64:ff9b:1::1 2002:7f00:1:: 2001:0:1::1 fc00::1
  fd00:ec2::254 fe80::1 fec0::1 ff02::1`
const PUBLIC = `1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 ::ffff:1.1.1.1
  64:ff9b::101:101 2606:4700:4700::1111 2a00:1450:4001::1 registry.example`

test('an address that is not globally routed is private in every spelling', (t) => {
  for (const address of PRIVATE.split(/\s+/)) t.true(isPrivateAddress(address), address)
})

test('a globally routed address, or a name, is not private', (t) => {
  for (const address of PUBLIC.split(/\s+/)) t.false(isPrivateAddress(address), address)
})
