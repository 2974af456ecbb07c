import { describe, expect, test } from 'vitest';
import { addressOptions, parseRedisUrl } from '../../src/settings/redis-address.ts';

describe('parseRedisUrl', () => {
  test.each([
    ['redis://r', { host: 'r', port: 6379, db: 0 }],
    ['redis://r:7000/3', { host: 'r', port: 7000, db: 3 }],
    ['redis://:p%40ss@r', { host: 'r', port: 6379, db: 0, password: 'p@ss' }],
    ['redis://laurel:a:b@r', { host: 'r', port: 6379, db: 0, username: 'laurel', password: 'a:b' }],
    ['redis://laurel@r?family=6', { host: 'r', port: 6379, db: 0, username: 'laurel', family: 6 }],
    ['redis://[::1]:7000', { host: '::1', port: 7000, db: 0 }],
    ['rediss://r?ca=%2Fan%20authority', { host: 'r', port: 6379, db: 0, tls: {}, caFile: '/an authority' }],
    [
      'redis+sentinel://:p@a,b:7000/main',
      {
        sentinels: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 7000 },
        ],
        name: 'main',
        password: 'p',
        db: 0,
      },
    ],
    [
      'rediss+sentinel://a/main?sentinel_username=s&sentinel_password=t&db=1',
      {
        sentinels: [{ host: 'a', port: 26_379 }],
        name: 'main',
        db: 1,
        tls: {},
        sentinelTLS: {},
        enableTLSForSentinelMode: true,
        sentinelUsername: 's',
        sentinelPassword: 't',
      },
    ],
  ])('%s', (url, address) => {
    expect(parseRedisUrl(url)).toEqual(address);
  });

  test.each([
    ['r:6379', 'must be a URL that begins with'],
    ['http://r', 'must be a URL that begins with'],
    ['redis://:%zz@r', 'has a "%"'],
    ['redis://a,b', 'has several hosts'],
    ['redis://r:70000', 'has a host that is not'],
    ['redis://r/main', 'has an invalid database number'],
    ['redis://r?sentinel_password=hush', 'has an unknown parameter "sentinel_password"'],
    ['redis://r?family=5', 'has a "family" that is not 4 or 6'],
    ['redis://r?ca=x', 'names a certificate authority but has no TLS'],
    ['redis+sentinel://a:1,b:2', 'does not end with the name of the master'],
  ])('refuses %s', (url, problem) => {
    expect(parseRedisUrl(url)).toContain(problem);
    expect(() => addressOptions(url)).toThrow(`REDIS_URL ${problem}`);
  });
});
