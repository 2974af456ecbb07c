/** The part of an e-mail with the HTML, of quoted-printable. */
export function htmlOf(content: string): string {
  const part = content.split(/^Content-Type: text\/html.*$/m)[1]!;
  return part
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([\dA-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

/** The first link of an e-mail whose clicks are recorded. */
export const clickUrl = (html: string): string => /<a href="([^"]*\/clicked\/[^"]*)"/.exec(html)![1]!;

/** The picture that records that an e-mail was opened. */
export const pixelUrl = (html: string): string => /<img src="([^"]*\/opened\/[^"]*)"/.exec(html)![1]!;
