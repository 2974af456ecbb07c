/** Tests of templates: a message with the figures of a user, to an address or device of somebody else. */
import { type Static, Type } from 'typebox';
import { UserId } from '../user.ts';
import { MessageTest } from './message-channel.ts';
import { MessagePreviewRequest, PushPreviewRequest } from './message-settings.ts';
import { PushTest } from './push-channel.ts';

/** Begins the subject of an e-mail and the title of a push notification. The figures in it are not those of its reader. */
export const TEST_PREFIX = '[Test] ';

export const TemplateTest = Type.Object({
  ...MessagePreviewRequest.properties,
  to: { ...MessageTest.properties.to, description: 'Address that gets the e-mail. It need not be the user’s.' },
});
export type TemplateTest = Static<typeof TemplateTest>;

/** Either a device or a user whose devices get it. */
export const PushTemplateTest = Type.Object({
  ...PushPreviewRequest.properties,
  token: Type.Optional({
    ...PushTest.properties.token,
    description: 'Token of the device that gets the notification. Its form says which channel sends.',
  }),
  toUserId: Type.Optional({
    ...UserId,
    description: 'User whose devices get the notification, instead of `token`: those of all providers with a channel.',
  }),
});
export type PushTemplateTest = Static<typeof PushTemplateTest>;
