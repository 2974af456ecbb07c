import { describe, expect, test } from 'vitest';
import { loadFirst, releasesFor } from '../../src/http/uws.ts';

describe('the HTTP server that this machine has a binary for', () => {
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

  test('the first that loads is taken, also after one that does not', () => {
    expect(loadFirst(['uws-of-tomorrow', 'node:os', 'node:path'])).toHaveProperty('hostname');
  });

  test('where none loads, the sentence names the machine and says what runs', () => {
    const { node } = process.versions;
    expect(() => loadFirst(['uws-of-tomorrow', 'node:no-such-module'])).toThrow(
      `The HTTP server has no binary for Node ${node} on ${process.platform} ${process.arch}`,
    );
  });

  test('where none has a binary for this Node, likewise', () => {
    expect(() => loadFirst(releasesFor('25.1.0'))).toThrow('The HTTP server has no binary');
  });

  test('where none is installed, the sentence says how to install', () => {
    expect(() => loadFirst(['uws-of-tomorrow', 'uws-of-next-year'])).toThrow('without --omit=optional');
  });
});
