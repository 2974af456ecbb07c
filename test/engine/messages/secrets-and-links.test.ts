import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSealer } from '../../../src/engine/messages/sealed-secrets.ts';
import { createTrackingLinks } from '../../../src/engine/messages/tracking-links.ts';
import { createUnsubscribeLinks } from '../../../src/engine/messages/unsubscribe-links.ts';

const KEY = randomBytes(32);

describe('a sealed secret', () => {
  const sealer = createSealer(KEY);

  it('opens with its key and context, and looks different each time', () => {
    const sealed = sealer.seal('pässword', 'smtp:0');
    expect(sealer.open(sealed, 'smtp:0')).toBe('pässword');
    expect(sealer.seal('pässword', 'smtp:0')).not.toEqual(sealed);
    expect(sealed.includes('pässword')).toBe(false);
    expect(sealer.open(sealer.seal('', 'smtp:0'), 'smtp:0')).toBe('');
  });

  it('opens with no other key or context, and not after a change of any byte', () => {
    const sealed = sealer.seal('password', 'smtp:0');
    expect(() => createSealer(randomBytes(32)).open(sealed, 'smtp:0')).toThrow();
    expect(() => sealer.open(sealed, 'smtp:1')).toThrow();
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      expect(() => sealer.open(changed, 'smtp:0')).toThrow();
      expect(() => sealer.open(sealed.subarray(0, at), 'smtp:0')).toThrow();
    }
  });

  it('needs a key of 32 bytes', () => expect(() => createSealer(randomBytes(31))).toThrow(RangeError));
});

describe('an unsubscribe link', () => {
  const links = createUnsubscribeLinks(KEY);
  const MESSAGE = '5c0b7f3e-91d4-8a6e-b2f7-4d1c6a9e8b05';
  const ADA = { tenantNo: 3, userId: 'ada', kind: 'recap', messageId: MESSAGE } as const;

  it('of an older version has no message', () => {
    const old = { ...ADA, messageId: null };
    expect(links.read(links.token(old))).toEqual(old);
  });

  it('stands for its user and kind, whatever the ID', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 255 }), (userId) => {
        const token = links.token({ ...ADA, userId });
        expect(links.read(token)).toEqual({ ...ADA, userId });
        expect(encodeURIComponent(token)).toBe(token);
      }),
    );
  });

  it('cannot be forged', () => {
    const token = links.token(ADA);
    const [content = '', signature = ''] = token.split('.');
    const bo = Buffer.from(JSON.stringify([3, 3, 'bo'])).toString('base64url');
    for (const forged of [
      '',
      '.',
      content,
      `${content}.`,
      `${bo}.${signature}`,
      `${content}.${signature}.x`,
      `${content}.${signature.slice(1)}`,
      'x'.repeat(100_000),
      createUnsubscribeLinks(randomBytes(32)).token(ADA),
    ])
      expect(links.read(forged)).toBeNull();
  });
});

describe('a tracked link', () => {
  const MESSAGE = { tenantNo: 3, id: '5c0b7f3e-91d4-8a6e-b2f7-4d1c6a9e8b05' };
  const links = createTrackingLinks(KEY);

  it('has the address in its signature', () => {
    fc.assert(
      fc.property(fc.webUrl({ validSchemes: ['https'], withQueryParameters: true, withFragments: true }), (url) => {
        const token = links.clickToken(MESSAGE, url)!;
        expect(links.readClick(token)).toEqual({ ...MESSAGE, url: new URL(url).href });
        expect(encodeURIComponent(token)).toBe(token);
      }),
    );
  });

  it('leads only to https, and is no longer than a request may be', () => {
    for (const url of [
      'http://a.example/',
      'javascript:alert(1)',
      '//a.example',
      `https://a.example/${'x'.repeat(2_000)}`,
    ])
      expect(links.clickToken(MESSAGE, url)).toBeNull();
  });

  it('cannot be forged, nor be used as another kind of link', () => {
    const token = links.clickToken(MESSAGE, 'https://a.example/')!;
    const [content = '', signature = ''] = token.split('.');
    const other = Buffer.from(Buffer.from(content, 'base64url').toString().replace('a.example', 'b.example')).toString(
      'base64url',
    );
    expect(links.readClick(`${other}.${signature}`)).toBeNull();
    expect(links.readOpen(token)).toBeNull();
    expect(links.readClick(links.openToken(MESSAGE))).toBeNull();
    expect(createTrackingLinks(randomBytes(32)).readClick(token)).toBeNull();
    const unsubscribe = { tenantNo: 3, userId: 'https://b.example/', kind: 'recap', messageId: null } as const;
    expect(links.readClick(createUnsubscribeLinks(KEY).token(unsubscribe))).toBeNull();
    expect(links.readOpen(links.openToken(MESSAGE))).toEqual(MESSAGE);
  });
});
