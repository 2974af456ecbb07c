import { describe, expect, test } from 'vitest';
import { loadFirst, releasesFor } from '../../src/http/uws.ts';

describe('the binary of the HTTP server for this machine', () => {
  test('one of the two releases loads', () => {
    expect(loadFirst(releasesFor(process.versions.node))).toHaveProperty('App');
  });

  test.each([
    ['20.20.2', ['uws-older']],
    ['22.23.3', ['uws-current', 'uws-older']],
    ['24.21.0', ['uws-current']],
    ['26.10.0', ['uws-current']],
    ['25.1.0', []],
  ])('on Node %s: of %j', (node, releases) => {
    expect(releasesFor(node)).toEqual(releases);
  });

  test('uses the first that loads, also after one that does not', () => {
    expect(loadFirst(['uws-of-tomorrow', 'node:os', 'node:path'])).toHaveProperty('hostname');
  });

  test('if none loads, the error names the machine and what would run', () => {
    const { node } = process.versions;
    expect(() => loadFirst(['uws-of-tomorrow', 'node:no-such-module'])).toThrow(
      `The HTTP server has no binary for Node ${node} on ${process.platform} ${process.arch}`,
    );
  });

  test('if none has a binary for this Node, the same', () => {
    expect(() => loadFirst(releasesFor('25.1.0'))).toThrow('The HTTP server has no binary');
  });

  test('if none is installed, the error says how to install it', () => {
    expect(() => loadFirst(['uws-of-tomorrow', 'uws-of-next-year'])).toThrow('without --omit=optional');
  });
});
