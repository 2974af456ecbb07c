import { type Static, Type } from 'typebox';
import { Nullable } from './schemas.ts';

/** The organisation's settings in the contract's shape. Laurel's own settings are in `Organisation`. */

const Text = Type.String({ maxLength: 255 });
/** Pages link to these URLs and load them, so schemes such as `javascript:` and `data:` are refused. */
export const HTTP_URL_PATTERN = '^https?://';
const Url = Type.String({ format: 'uri', maxLength: 2_048, pattern: HTTP_URL_PATTERN });
export const Picture = Type.Object({ url: Url });

const FontFamily = Type.Enum([
  'MODERN_SANS',
  'BOOK_SANS',
  'ORGANIC_SANS',
  'GEOMETRIC_SANS',
  'HEAVY_SANS',
  'ROUNDED_SANS',
  'MODERN_SERIF',
  'BOOK_SERIF',
  'MONOSPACE',
]);

/** Look of an organisation's own messages and pages. Laurel stores it for the programs that create them. */
export const Branding = Type.Object({
  appName: Text,
  /** Empty by default. */
  appUrl: Type.String({ maxLength: 2_048 }),
  brandColor: Text,
  font: FontFamily,
  logo: Nullable(Picture),
  appIcon: Nullable(Picture),
});
export type Branding = Static<typeof Branding>;

/** `appName` defaults to the organisation's name. */
export const DEFAULT_BRANDING: Omit<Branding, 'appName'> = {
  appUrl: '',
  brandColor: '#000000',
  font: 'MODERN_SANS',
  logo: null,
  appIcon: null,
};

export const Experimentation = Type.Object({
  /** Percentage of users in the control group: the organisation's `controlShare`, rounded to a whole percent. */
  controlRatio: Type.Integer({ minimum: 0, maximum: 100 }),
  /** In days. */
  userActivationWindow: Type.Integer({ minimum: 3, maximum: 30 }),
});

const AGGREGATION_PERIODS = ['weekly', 'monthly'] as const;

export const Settings = Type.Object({
  branding: Branding,
  experimentation: Experimentation,
  aggregationPeriod: Type.Enum([...AGGREGATION_PERIODS]),
});
export type Settings = Static<typeof Settings>;

/** Fields of the branding in requests. Unlike an answer, a request cannot clear the name or the address. */
export const ChangedBranding = Type.Object({
  ...Branding.properties,
  appName: Type.String({ minLength: 1, maxLength: 255 }),
  appUrl: Url,
});

export const SettingsChanges = Type.Partial(
  Type.Object({
    branding: Type.Partial(ChangedBranding),
    experimentation: Type.Partial(Experimentation),
    aggregationPeriod: Settings.properties.aggregationPeriod,
  }),
);
export type SettingsChanges = Static<typeof SettingsChanges>;

/** A deployment of the configuration, as the contract lists it. */
export const Environment = Type.Object({
  name: Type.String(),
  key: Type.String(),
  priority: Type.Integer({ minimum: 1, maximum: 10 }),
});
export type Environment = Static<typeof Environment>;
