/** Services that deliver push notifications. */
export const PUSH_PROVIDERS = ['fcm', 'apns', 'expo', 'web_push'] as const;
export type PushProvider = (typeof PUSH_PROVIDERS)[number];

const EXPO = /^Expo(nent)?PushToken\[[^\]]*\]$/;
/** Apple's tokens are bytes in hexadecimal; they may grow beyond 32 bytes. */
const APNS = /^([0-9a-f]{2}){32,}$/i;

/**
 * The provider of a device token, by its form alone: `ExpoPushToken[…]`, a Web Push subscription as JSON text, at least 64
 * hexadecimal digits of APNs. Everything else belongs to FCM, whose tokens have no documented form. Pure.
 */
export function providerOf(token: string): PushProvider {
  if (EXPO.test(token)) return 'expo';
  if (token.trimStart().startsWith('{')) return 'web_push';
  return APNS.test(token) ? 'apns' : 'fcm';
}
