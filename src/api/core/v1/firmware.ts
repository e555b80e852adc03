// Firmware: fields, types and required-ness of the API objects. Read by every room as types, by schema/ to render the CRDs
// and by the webhooks to check structure. Decides nothing.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsBoolean, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';

export class ACPI {
  @IsString()
  @IsOptional()
  msdmNameRef?: string;
  @IsString()
  @IsOptional()
  slicNameRef?: string;
}

export class BIOS {
  @IsBoolean()
  @IsOptional()
  useSerial?: boolean;
}

export class EFI {
  /** Whether the variables outlive the instance. */
  @IsBoolean()
  @IsOptional()
  persistent?: boolean;
  /** Whether only signed code boots. True by default. */
  @IsBoolean()
  @IsOptional()
  secureBoot?: boolean;
}

export class Bootloader {
  @ValidateNested()
  @Type(() => BIOS)
  @IsOptional()
  bios?: BIOS;
  @ValidateNested()
  @Type(() => EFI)
  @IsOptional()
  efi?: EFI;
}

export class Chassis {
  @IsString()
  @IsOptional()
  asset?: string;
  @IsString()
  @IsOptional()
  manufacturer?: string;
  @IsString()
  @IsOptional()
  serial?: string;
  @IsString()
  @IsOptional()
  sku?: string;
  @IsString()
  @IsOptional()
  version?: string;
}

export class KernelBootContainer {
  @IsString()
  image!: string;
  @IsString()
  @IsOptional()
  imagePullPolicy?: string;
  @IsString()
  @IsOptional()
  imagePullSecret?: string;
  @IsString()
  @IsOptional()
  initrdPath?: string;
  @IsString()
  @IsOptional()
  kernelPath?: string;
}

export class KernelBoot {
  @ValidateNested()
  @Type(() => KernelBootContainer)
  @IsOptional()
  container?: KernelBootContainer;
  @IsString()
  @IsOptional()
  kernelArgs?: string;
}

export class Firmware {
  /** ACPI tables from secrets, such as licence keys. */
  @ValidateNested()
  @Type(() => ACPI)
  @IsOptional()
  acpi?: ACPI;
  /** BIOS, which is the default, or EFI. */
  @ValidateNested()
  @Type(() => Bootloader)
  @IsOptional()
  bootloader?: Bootloader;
  /** Boots a kernel of a container image, without a boot loader. */
  @ValidateNested()
  @Type(() => KernelBoot)
  @IsOptional()
  kernelBoot?: KernelBoot;
  /** Serial number of the machine. */
  @IsString()
  @IsOptional()
  serial?: string;
  /** Identifies the machine to the guest. */
  @IsString()
  @IsOptional()
  uuid?: string;
}

export type SEVAttestation = Record<string, never>;

export class SEVPolicy {
  @IsBoolean()
  @IsOptional()
  encryptedState?: boolean;
}

export class SEV {
  @IsObject()
  @IsOptional()
  attestation?: SEVAttestation;
  @IsString()
  @IsOptional()
  dhCert?: string;
  @ValidateNested()
  @Type(() => SEVPolicy)
  @IsOptional()
  policy?: SEVPolicy;
  @IsString()
  @IsOptional()
  session?: string;
}

export type SEVSNP = Record<string, never>;

export type TDX = Record<string, never>;

export class LaunchSecurity {
  /** AMD secure encrypted virtualization. */
  @ValidateNested()
  @Type(() => SEV)
  @IsOptional()
  sev?: SEV;
  /** AMD SEV with secure nested paging. */
  @IsObject()
  @IsOptional()
  snp?: SEVSNP;
  /** Intel trust domain extensions. */
  @IsObject()
  @IsOptional()
  tdx?: TDX;
}

export class Machine {
  /** Type of the board, such as q35 or virt. */
  @IsString()
  @IsOptional()
  type?: string;
}
